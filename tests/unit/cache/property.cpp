// SPDX-License-Identifier: BSD-3-Clause
#include "fixture.hpp"

#include <algorithm>
#include <mutex>
#include <random>
#include <set>

namespace mrz::test {
namespace {

using CacheProperty = CacheTest;

// Random requests, leases, releases, invalidations and batches, over gaps, neighbours, nested and overlapping ranges.
// The model: every lease covers its range with its rights, by a key that works; keys are of no more memory than is
// allowed; what was invalidated is not given out again; and budgets hold.
TEST_F(CacheProperty, EveryKeyCoversItsRangeAndWorks)
{
    std::mutex mutex;
    std::set<LKey> gone;
    script().on_deregister = [&](LKey key) {
        const std::scoped_lock guard{mutex};
        gone.insert(key);
    };
    struct Held {
        Lease lease;
    };
#if defined(__SANITIZE_THREAD__)
    constexpr int steps = 300; // each registering reads the process's mappings, of which there are many then
#else
    constexpr int steps = 3000;
#endif
    for (std::uint64_t seed = 1; seed <= 8; ++seed) {
        std::mt19937_64 random{seed};
        const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
        CacheOptions options{.bytes = 96 * page, .keys = 24};
        options.merge_up_to = seed % 3 == 0 ? 0 : 16 * page;
        if (seed % 4 == 1)
            options.entries = 16;
        Cache cache{*domain, options};
        std::vector<Held> held;
        std::set<LKey> ended; // keys that must not be given out any more

        const auto some_range = [&] {
            const std::size_t length = 1 + below(below(3) == 0 ? 8 * page : 64);
            const std::size_t begin = below(3) == 0 ? below(24) * page : below(24 * page);
            return memory.subspan(begin, length);
        };
        const auto some_access = [&] {
            static constexpr Access choices[] = {Access::local_write, Access::local_read, Access::local_write,
                                                 Access::local_write | Access::remote_write, Access::remote_read};
            return choices[below(std::size(choices))];
        };
        const auto check = [&](const Lease& lease, std::span<std::byte> asked, Access access) {
            ASSERT_EQ(lease.bytes().data(), asked.data());
            ASSERT_EQ(lease.bytes().size(), asked.size());
            ASSERT_TRUE(covers(lease));
            ASSERT_TRUE(grants(lease.access(), access));
            if (grants(access, Access::remote_read) || grants(access, Access::remote_write)) {
                ASSERT_EQ(lease.access(), access);
                ASSERT_EQ(lease.region_bytes().data(), asked.data());
                ASSERT_EQ(lease.region_bytes().size(), asked.size());
            } else {
                ASSERT_TRUE(lease.access() == Access::local_read || lease.access() == Access::local_write);
                ASSERT_LE(lease.region_bytes().size(), std::max(options.merge_up_to, 11 * page));
            }
            ASSERT_FALSE(ended.contains(lease.lkey()));
        };
        const auto check_all = [&] {
            const std::scoped_lock guard{mutex};
            for (const Held& one : held)
                ASSERT_FALSE(gone.contains(one.lease.lkey()));
        };
        const auto keep = [&](Lease lease) { held.push_back({std::move(lease)}); };
        for (int step = 0; step < steps; ++step) {
            const std::size_t dice = below(20);
            try {
                if (dice < 9) {
                    const auto range = some_range();
                    const Access access = some_access();
                    Lease lease = cache.lease(range, access);
                    ASSERT_NO_FATAL_FAILURE(check(lease, range, access));
                    if (below(2) == 0)
                        keep(std::move(lease));
                } else if (dice < 16) {
                    if (!held.empty()) {
                        std::swap(held[below(held.size())], held.back());
                        held.pop_back();
                    }
                } else if (dice < 18) {
                    const auto range = some_range();
                    cache.invalidate(range);
                    for (Held& one : held) {
                        const auto region = one.lease.region_bytes();
                        if (region.data() < range.data() + range.size() &&
                            range.data() < region.data() + region.size())
                            ended.insert(one.lease.lkey());
                    }
                } else {
                    std::vector<LeaseRequest> requests(1 + below(8));
                    std::ranges::generate(requests, [&] { return LeaseRequest{some_range(), some_access()}; });
                    std::vector<Lease> leases = cache.lease_all(requests);
                    for (std::size_t i = 0; i < leases.size(); ++i)
                        ASSERT_NO_FATAL_FAILURE(check(leases[i], requests[i].memory, requests[i].access));
                    if (below(2) == 0)
                        for (std::size_t i = 0; i < leases.size(); ++i)
                            keep(std::move(leases[i]));
                }
            } catch (const Error& error) { // leases hold the budget, or a batch is larger
                ASSERT_TRUE(error.error_number() == ENOBUFS || error.error_number() == E2BIG) << error.what();
                held.clear();
            }
            ASSERT_NO_FATAL_FAILURE(check_all());
            const CacheSnapshot now = cache.snapshot();
            ASSERT_LE(now.bytes, options.bytes);
            ASSERT_LE(now.keys, options.keys);
            ASSERT_LE(now.entries, options.entries);
            ASSERT_EQ(now.leases, held.size());
        }
        held.clear();
        const CacheSnapshot end = cache.snapshot();
        EXPECT_GT(end.hits, 10u);
        EXPECT_GT(end.evictions, 5u);
        EXPECT_GT(end.invalidations, 5u);
        EXPECT_EQ(end.merges > 0, options.merge_up_to > 0);
        cache.close();
        EXPECT_EQ(script().registered, 0);
    }
    script().on_deregister = {};
}

} // namespace
} // namespace mrz::test
