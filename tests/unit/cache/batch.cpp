// SPDX-License-Identifier: BSD-3-Clause
#include "fixture.hpp"

#include <algorithm>
#include <atomic>
#include <random>
#include <set>

namespace mrz::test {
namespace {

using Batch = CacheTest;

TEST_F(Batch, OfAdjacentPagesIsOneRegion)
{
    Cache cache{*domain};
    std::vector<LeaseRequest> requests;
    for (std::size_t i = 0; i < pages; ++i)
        requests.push_back({at(i)});
    std::ranges::shuffle(requests, std::mt19937{1});
    const std::vector<Lease> leases = cache.lease_all(requests);
    ASSERT_EQ(leases.size(), requests.size());
    for (std::size_t i = 0; i < leases.size(); ++i) {
        EXPECT_EQ(leases[i].bytes().data(), requests[i].memory.data());
        EXPECT_EQ(leases[i].lkey(), leases[0].lkey());
        EXPECT_EQ(leases[i].region_bytes().size(), memory.size());
        EXPECT_EQ(leases[i].iova().value(), reinterpret_cast<std::uintptr_t>(requests[i].memory.data()));
    }
    EXPECT_EQ(script().keys, 1);
    EXPECT_EQ(cache.snapshot().merges, 1u);
    EXPECT_EQ(cache.snapshot().misses, pages);
    EXPECT_EQ(cache.snapshot().leases, pages);
}

TEST_F(Batch, OfScatteredPagesIsARegionEach)
{
    Cache cache{*domain};
    std::vector<LeaseRequest> requests;
    for (std::size_t i = 0; i < pages; i += 2)
        requests.push_back({at(i)});
    const std::vector<Lease> leases = cache.lease_all(requests);
    std::set<LKey> keys;
    for (const Lease& lease : leases) {
        EXPECT_TRUE(covers(lease));
        keys.insert(lease.lkey());
    }
    EXPECT_EQ(keys.size(), pages / 2);
    EXPECT_EQ(cache.snapshot().merges, 0u);
}

TEST_F(Batch, MergesUpToTheLongestThatOptionsAllow)
{
    CacheOptions options;
    options.merge_up_to = 16 * page;
    Cache cache{*domain, options};
    std::vector<LeaseRequest> requests;
    for (std::size_t i = 0; i < pages; ++i)
        requests.push_back({at(i)});
    const std::vector<Lease> leases = cache.lease_all(requests);
    EXPECT_EQ(script().keys, static_cast<int>(pages / 16));
    EXPECT_TRUE(std::ranges::all_of(leases, covers));
}

TEST_F(Batch, KeepsRemoteRangesAndOtherRightsApart)
{
    Cache cache{*domain};
    const std::vector<LeaseRequest> requests{
        {at(0), Access::remote_read},
        {at(1), Access::remote_read},
        {at(0), Access::remote_read},
        {at(0).first(100), Access::remote_read},
        {at(0), Access::local_write | Access::remote_read},
        {at(0), Access::local_write},
        {at(1), Access::local_write},
        {at(2), Access::local_read},
    };
    const std::vector<Lease> leases = cache.lease_all(requests);
    for (std::size_t i = 0; i < 5; ++i) {
        EXPECT_EQ(leases[i].region_bytes().data(), requests[i].memory.data());
        EXPECT_EQ(leases[i].region_bytes().size(), requests[i].memory.size());
        EXPECT_EQ(leases[i].access(), requests[i].access);
    }
    EXPECT_EQ(leases[0].rkey(), leases[2].rkey());
    EXPECT_EQ(leases[5].lkey(), leases[6].lkey());
    EXPECT_EQ(leases[5].region_bytes().size(), 2 * page);
    EXPECT_EQ(script().registered, 6);
}

TEST_F(Batch, TakesWhatIsThere)
{
    Cache cache{*domain};
    const Lease there = cache.lease(at(0, 8));
    const std::vector<LeaseRequest> requests{{at(3)}, {at(20)}, {at(7)}};
    const std::vector<Lease> leases = cache.lease_all(requests);
    EXPECT_EQ(leases[0].lkey(), there.lkey());
    EXPECT_EQ(leases[2].lkey(), there.lkey());
    EXPECT_EQ(script().keys, 2);
    EXPECT_EQ(cache.snapshot().hits, 2u);
    EXPECT_EQ(cache.lease_all({}).size(), 0u);
}

TEST_F(Batch, ThatFailsInTheMidstLeavesNothing)
{
    for (const unsigned threads : {1u, 4u}) {
        Cache cache{*domain, {.batch_threads = threads}};
        const Lease there = cache.lease(at(0));
        script().on_register = [&](const RegisterRequest& request) {
            if (request.address == at(100).data())
                throw Error{EFAULT, {.trouble = Trouble::permission, .what = "x", .limit = "page 100", .remedy = {}}};
        };
        std::vector<LeaseRequest> requests;
        for (std::size_t i = 0; i < pages; i += 4)
            requests.push_back({at(i)});
        EXPECT_EQ(refusal([&] { static_cast<void>(cache.lease_all(requests)); }).cause().limit, "page 100");
        EXPECT_EQ(script().registered, 1);
        const CacheSnapshot now = cache.snapshot();
        EXPECT_EQ(now.leases, 1u);
        EXPECT_EQ(now.regions, 1u);
        EXPECT_EQ(now.keys, 1u);
        EXPECT_EQ(now.bytes, page);
        script().on_register = {};
        EXPECT_EQ(cache.lease_all(requests).size(), requests.size());
    }
}

TEST_F(Batch, OfAnImpossibleRequestRegistersNothing)
{
    Cache cache{*domain};
    EXPECT_EQ(refusal([&] {
                  static_cast<void>(cache.lease_all(std::vector<LeaseRequest>{{at(0)}, {at(5).first(0)}}));
              }).error_number(),
              EINVAL);
    EXPECT_EQ(
        refusal([&] {
            static_cast<void>(cache.lease_all(std::vector<LeaseRequest>{{at(0)}, {at(5), Access::remote_atomic}}));
        }).error_number(),
        EINVAL);
    // Rounded to its page the end of all addresses is before everything else, and nothing covers it.
    const std::span<std::byte> last{reinterpret_cast<std::byte*>(~(page - 1)), page - 1};
    EXPECT_EQ(refusal([&] {
                  static_cast<void>(cache.lease_all(std::vector<LeaseRequest>{{at(1)}, {last}}));
              }).error_number(),
              EINVAL);
    EXPECT_EQ(script().keys, 0);
}

TEST_F(Batch, LargerThanTheBudgetIsRefusedAndOneThatFitsMakesRoom)
{
    Cache cache{*domain, alone({.bytes = 32 * page})};
    std::vector<LeaseRequest> requests;
    for (std::size_t i = 0; i < 66; i += 2)
        requests.push_back({at(i)});
    EXPECT_EQ(refusal([&] { static_cast<void>(cache.lease_all(requests)); }).error_number(), E2BIG);
    for (std::size_t i = 0; i < 20; ++i)
        static_cast<void>(cache.lease(at(100 + i)));
    requests.pop_back();
    EXPECT_EQ(cache.lease_all(requests).size(), 32u);
    EXPECT_EQ(cache.snapshot().evictions, 20u);
}

TEST_F(Batch, AfterALimitOfTheSystemIsTriedOnceMore)
{
    Cache cache{*domain, alone()};
    for (std::size_t i = 0; i < 10; ++i)
        static_cast<void>(cache.lease(at(i)));
    script().on_register = [](const RegisterRequest&) {
        if (script().registered >= 20)
            throw Error{ENOMEM, {.trouble = Trouble::locked_memory, .what = "x", .limit = "RLIMIT", .remedy = {}}};
    };
    std::vector<LeaseRequest> requests;
    for (std::size_t i = 0; i < 20; ++i)
        requests.push_back({at(20 + 2 * i)});
    EXPECT_EQ(cache.lease_all(requests).size(), 20u);
    EXPECT_EQ(script().registered, 20);
}

} // namespace
} // namespace mrz::test
