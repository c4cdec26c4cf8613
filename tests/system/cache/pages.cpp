// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! A cache over hugepages, over transparent ones, and under a limit on locked memory that is met for real.
#include <mrzone/cache.hpp>
#include <mrzone/host.hpp>

#include "support/in_child.hpp"
#include "support/lowered.hpp"
#include "support/mapping.hpp"
#include "support/pool_guard.hpp"
#include "support/require.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

namespace mrz::test {
namespace {

class CachePages : public testing::Test {
  protected:
    void SetUp() override { MRZ_REQUIRE(geteuid() == 0, "needs root, for pools, frames and limits"); }
};

TEST_F(CachePages, ASmallRangeOfAHugepageIsAllOfIt)
{
    const PoolGuard guard{2_MiB, 4};
    const Mapping memory{8_MiB, MAP_HUGETLB};
    const Domain domain = Domain::open("soft");
    Cache cache{domain};
    const Lease lease = cache.lease(memory.bytes().subspan(2_MiB + 5000, 100));
    EXPECT_EQ(lease.region_bytes().data(), memory.bytes().data() + 2_MiB);
    EXPECT_EQ(lease.region_bytes().size(), 2_MiB);
    EXPECT_EQ(cache.snapshot().entries, 1U);
    EXPECT_EQ(cache.lease(memory.bytes().subspan(3_MiB, 100'000)).lkey(), lease.lkey());
    // A peer gets exactly what is named.
    EXPECT_EQ(cache.lease(memory.bytes().subspan(2_MiB + 5000, 100), Access::remote_read).region_bytes().size(),
              100U);
    // Two hugepages are more than merge_up_to allows, for a few bytes of each.
    EXPECT_EQ(cache.lease(memory.bytes().subspan(6_MiB - 1, 2)).region_bytes().size(), 8_KiB);
}

TEST_F(CachePages, ARangeStaysSmallWhereTheBudgetHasNoRoomForItsHugepage)
{
    const PoolGuard guard{2_MiB, 1};
    const Mapping memory{2_MiB, MAP_HUGETLB};
    const Domain domain = Domain::open("soft");
    Cache cache{domain, {.bytes = 64_KiB}};
    EXPECT_EQ(cache.lease(memory.bytes().subspan(5000, 100)).region_bytes().size(), 4_KiB);
}

TEST_F(CachePages, ABatchStaysSmallWhereTheBudgetHasNoRoomForItsHugepages)
{
    const PoolGuard guard{2_MiB, 4};
    const Mapping memory{8_MiB, MAP_HUGETLB};
    const Domain domain = Domain::open("soft");
    Cache cache{domain, {.bytes = 4_MiB}};
    std::vector<LeaseRequest> requests;
    for (std::size_t i = 0; i < 4; ++i)
        requests.push_back({memory.bytes().subspan(i * 2_MiB + 5000, 100)});
    for (const Lease& lease : cache.lease_all(requests))
        EXPECT_EQ(lease.region_bytes().size(), 4_KiB);
}

TEST_F(CachePages, OfATransparentHugepageGrowsToItIfThatIsAllowed)
{
    const Mapping mapping{6_MiB};
    const auto begin = reinterpret_cast<std::uintptr_t>(mapping.bytes().data());
    const std::span<std::byte> huge = mapping.bytes().subspan((begin + 2_MiB - 1) / 2_MiB * 2_MiB - begin, 2_MiB);
    ASSERT_EQ(::madvise(huge.data(), 2_MiB, MADV_HUGEPAGE), 0);
    std::memset(huge.data(), 1, huge.size());
    const Domain domain = Domain::open("soft");
    MRZ_REQUIRE(domain.dma_view() == DmaView::frames, "the adapter sees no frames here");
    if (domain.register_memory(huge).plan().mtt_entries() != 1)
        GTEST_SKIP() << "the kernel gave no transparent hugepage";
    Cache grows{domain, {.grow = true}};
    EXPECT_EQ(grows.lease(huge.subspan(9000, 10)).region_bytes().data(), huge.data());
    EXPECT_EQ(grows.snapshot().bytes, 2_MiB);
    EXPECT_EQ(grows.snapshot().entries, 1U);
    Cache stays{domain};
    EXPECT_EQ(stays.lease(huge.subspan(9000, 10)).region_bytes().size(), 4_KiB);
    // Where the pages around are not all there, it stays small, too.
    std::byte* const next = huge.data() + 2_MiB;
    if (next + 2_MiB <= mapping.bytes().data() + 6_MiB) {
        ASSERT_EQ(::madvise(next, 2_MiB, MADV_NOHUGEPAGE), 0);
        EXPECT_EQ(grows.lease({next, 10}).region_bytes().size(), 4_KiB);
    }
}

TEST_F(CachePages, ALimitOnLockedMemoryLetsIdleRegionsGo)
{
    in_child([] {
        const Mapping memory{16_MiB};
        become_somebody(8_MiB);
        const Domain domain = Domain::open("soft");
        Cache cache{domain};
        for (std::size_t i = 0; i < 8; ++i)
            EXPECT_TRUE(cache.lease(memory.bytes().subspan(i * 2_MiB, 2_MiB)));
        EXPECT_GE(cache.snapshot().evictions, 4U);
        const Lease held = cache.lease(memory.bytes().first(4_MiB));
        try {
            static_cast<void>(cache.lease(memory.bytes().last(8_MiB)));
            ADD_FAILURE() << "it was registered";
        } catch (const Error& error) {
            EXPECT_EQ(error.cause().trouble, Trouble::locked_memory) << error.what();
        }
        cache.lease(memory.bytes().first(4_MiB)).release();
    });
}

} // namespace
} // namespace mrz::test
