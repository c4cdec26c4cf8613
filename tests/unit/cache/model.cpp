// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! The cache against a plain model: a list of what was registered, looked at one by one.
#include "fixture.hpp"

#include <algorithm>
#include <random>

namespace mrz::test {
namespace {

using Bytes = std::span<std::byte>;

bool covers(Bytes there, Bytes asked)
{
    return there.data() <= asked.data() && there.data() + there.size() >= asked.data() + asked.size();
}

bool touches(Bytes one, Bytes other)
{
    return one.data() < other.data() + other.size() && other.data() < one.data() + one.size();
}

bool is_same(Bytes one, Bytes other)
{
    return one.data() == other.data() && one.size() == other.size();
}

//! With budgets for everything, so that nothing has to go for room, what a cache must answer is known.
class CacheModel : public CacheTest {
  protected:
    struct One {
        Bytes bytes;
        Access access;

        [[nodiscard]] bool serves(Bytes asked, Access wanted) const
        {
            if (has_remote_right(access) || has_remote_right(wanted))
                return is_same(bytes, asked) && access == wanted;
            return covers(bytes, asked) && grants(access, wanted);
        }
    };

    void SetUp() override
    {
        CacheTest::SetUp();
        script().on_register = [this](const RegisterRequest& request) {
            model.push_back({{request.address, request.length}, request.access});
        };
    }
    void TearDown() override
    {
        script().on_register = {};
        CacheTest::TearDown();
    }

    std::size_t below(std::size_t n) { return static_cast<std::size_t>(random() % n); }
    //! Whole pages and parts of them, short ones often: gaps, neighbours, nested and overlapping ranges.
    Bytes some_range()
    {
        const std::size_t length = below(2) == 0 ? (1 + below(4)) * page : 1 + below(below(3) == 0 ? 8 * page : 64);
        const std::size_t begin = below(2) == 0 ? below(48) * page : below(48 * page);
        return memory.subspan(begin, length);
    }
    Access some_access()
    {
        static constexpr Access choices[] = {Access::local_write, Access::local_write, Access::local_read,
                                             Access::remote_read, Access::local_write | Access::remote_write};
        return choices[below(std::size(choices))];
    }
    [[nodiscard]] bool has(Bytes asked, Access access) const
    {
        return std::ranges::any_of(model, [&](const One& one) { return one.serves(asked, access); });
    }
    //! Whether a lease is of something that is there and serves.
    void check(const Lease& lease, Bytes asked, Access access) const
    {
        ASSERT_TRUE(is_same(lease.bytes(), asked));
        ASSERT_TRUE(std::ranges::any_of(model, [&](const One& one) {
            return is_same(one.bytes, lease.region_bytes()) && one.access == lease.access() &&
                   one.serves(asked, access);
        }));
    }

    void run(std::uint64_t seed, const CacheOptions& options, bool invalidates)
    {
        SCOPED_TRACE("seed " + std::to_string(seed));
        random.seed(seed);
        model.clear();
        Cache cache{*domain, options};
        std::vector<Lease> held;
        std::uint64_t hits = 0;
        std::uint64_t misses = 0;
        for (int step = 0; step < 1500; ++step) {
            std::vector<LeaseRequest> requests(below(4) == 0 ? 1 + below(8) : 1);
            std::ranges::generate(requests, [this] { return LeaseRequest{some_range(), some_access()}; });
            for (const LeaseRequest& one : requests)
                ++(has(one.memory, one.access) ? hits : misses);
            std::vector<Lease> leases;
            if (requests.size() > 1)
                leases = cache.lease_all(requests);
            else
                leases.push_back(cache.lease(requests.front().memory, requests.front().access));
            const CacheSnapshot now = cache.snapshot();
            ASSERT_EQ(now.hits, hits) << "step " << step;
            ASSERT_EQ(now.misses, misses) << "step " << step;
            for (std::size_t i = 0; i < leases.size(); ++i)
                ASSERT_NO_FATAL_FAILURE(check(leases[i], requests[i].memory, requests[i].access)) << "step " << step;
            if (below(3) == 0)
                std::ranges::move(leases, std::back_inserter(held));
            while (held.size() > 12) {
                std::swap(held[below(held.size())], held.back());
                held.pop_back();
            }
            // Often at first, so that it does not fill; then seldom, so that there are many regions.
            if (invalidates && below(step < 700 ? 6 : 60) == 0) {
                const Bytes range = some_range();
                cache.invalidate(range);
                std::erase_if(model, [&](const One& one) { return touches(one.bytes, range); });
            }
        }
        EXPECT_GT(hits, 200u);
        EXPECT_GT(misses, 200u);
        EXPECT_EQ(cache.snapshot().evictions, 0u);
        EXPECT_EQ(cache.snapshot().merges > 0, options.merge_up_to > 0);
    }

    std::mt19937_64 random;
    std::vector<One> model; // what may be leased
};

constexpr CacheOptions plenty{.bytes = std::size_t{1} << 40};

// What is merged covers all that it replaces, so the model need not know of it as long as nothing ends.
TEST_F(CacheModel, HitsJustWhereOneOfTheRegionsServesAndMergedOnesServeForTheirParts)
{
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {
        CacheOptions options = plenty;
        options.merge_up_to = (seed % 2 == 0 ? 8 : 64) * page;
        run(seed, options, false);
    }
}

TEST_F(CacheModel, HitsJustWhereOneOfTheRegionsServesThatWereNotInvalidated)
{
    for (std::uint64_t seed = 11; seed <= 16; ++seed)
        run(seed, alone(plenty), true);
}

} // namespace
} // namespace mrz::test
