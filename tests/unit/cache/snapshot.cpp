// SPDX-License-Identifier: BSD-3-Clause
#include "fixture.hpp"

#include "support/in_child.hpp"

#include <atomic>
#include <thread>

#include <unistd.h>

namespace mrz::test {
namespace {

using CacheSnapshots = CacheTest;

TEST_F(CacheSnapshots, AreHadByNumberOfWhatIsListed)
{
    std::optional<Cache> cache{std::in_place, *domain, CacheOptions{.bytes = 1_MiB, .keys = 7, .entries = 9}};
    const std::uint64_t number = cache->number();
    EXPECT_EQ(Cache::living(), (std::vector<Living>{{number, "soft"}}));
    Lease lease = cache->lease(at(0));
    const auto now = Cache::snapshot_of(number);
    ASSERT_TRUE(now.has_value());
    EXPECT_EQ(now->number, number);
    EXPECT_EQ(now->domain, domain->number());
    EXPECT_EQ(now->leases, 1u);
    EXPECT_EQ(now->misses, 1u);
    EXPECT_EQ(now->budget_bytes, 1_MiB);
    EXPECT_EQ(now->budget_keys, 7u);
    EXPECT_EQ(now->budget_entries, 9u);
    EXPECT_FALSE(Cache::snapshot_of(number + 1).has_value());
    // What it pins is seen as long as it is pinned.
    cache.reset();
    EXPECT_EQ(Cache::snapshot_of(number)->leases, 1u);
    lease.release();
    EXPECT_FALSE(Cache::snapshot_of(number).has_value());
    EXPECT_TRUE(Cache::living().empty());
}

TEST_F(CacheSnapshots, AgreeWithTheDomainsTemporaryTier)
{
    Cache cache{*domain, alone()};
    const Lease first = cache.lease(at(0, 3));
    static_cast<void>(cache.lease(at(9)));
    const Region region = domain->register_memory(at(20));
    const DomainSnapshot in_domain = domain->snapshot();
    const CacheSnapshot in_cache = cache.snapshot();
    EXPECT_EQ(in_domain.temporary.regions, in_cache.keys);
    EXPECT_EQ(in_domain.temporary.bytes, in_cache.bytes);
    EXPECT_EQ(in_domain.temporary.mtt_entries + in_domain.temporary.indirect_entries, in_cache.entries);
    EXPECT_EQ(in_domain.resident.regions, 1u);
    cache.invalidate(at(9));
    settle(cache);
    EXPECT_EQ(domain->snapshot().temporary.regions, 1u);
}

TEST_F(CacheSnapshots, AreNotHadOfAParentsCache)
{
    const Cache cache{*domain};
    in_child([&] {
        alarm(30);
        EXPECT_TRUE(Cache::living().empty());
        EXPECT_FALSE(Cache::snapshot_of(cache.number()).has_value());
    });
    EXPECT_EQ(Cache::living().size(), 1u);
}

TEST_F(CacheSnapshots, AreWholeWhileCachesComeAndGo)
{
    std::atomic<int> working = 2;
    const auto work = [&](std::size_t first) {
        for (int i = 0; i < 100; ++i) {
            Lease lease;
            Cache cache{*domain};
            lease = cache.lease(at(first));
            static_cast<void>(cache.lease(at(first + 1)));
        }
        --working;
    };
    std::thread workers[] = {std::thread{work, 0}, std::thread{work, 100}};
    while (working > 0)
        for (const Living& living : Cache::living())
            if (const auto now = Cache::snapshot_of(living.number)) {
                EXPECT_EQ(now->domain, domain->number());
                EXPECT_LE(now->leases, 2u);
                EXPECT_LE(now->misses, 2u);
            }
    for (std::thread& worker : workers)
        worker.join();
    EXPECT_TRUE(Cache::living().empty());
    EXPECT_EQ(domain->snapshot().temporary.regions, 0u);
}

} // namespace
} // namespace mrz::test
