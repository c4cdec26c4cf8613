// SPDX-License-Identifier: BSD-3-Clause
#include <mrzone/hugepage.hpp>

#include "support/pool_guard.hpp"
#include "support/require.hpp"

#include <gtest/gtest.h>

#include <unistd.h>

namespace mrz::test {
namespace {

TEST(Pools, GrowAndAreReadBackAndAreAsTheyWereAfterwards)
{
    MRZ_REQUIRE(geteuid() == 0, "needs root, to change a pool");
    const Pool before = read_pool(2_MiB);
    {
        const PoolGuard guard{2_MiB, 16};
        const Pool during = read_pool(2_MiB);
        EXPECT_EQ(during.free, 16U);
        EXPECT_EQ(during.total, before.total - before.free + 16);
    }
    EXPECT_EQ(read_pool(2_MiB).total, before.total);
}

TEST(Pools, GrowByWholeGigabytesWhileThatOfGigabytePagesStaysAsItWas)
{
    MRZ_REQUIRE(geteuid() == 0, "needs root, to change a pool");
    const PoolGuard guard{2_MiB, 1};
    const Pool before = read_pool(2_MiB);
    const Pool large = read_pool(1_GiB);
    MRZ_REQUIRE(add_a_whole_gigabyte(), "the kernel gives no page of 1 GiB, or does not split it");
    EXPECT_EQ(read_pool(2_MiB).free, before.free + 512);
    EXPECT_EQ(read_pool(1_GiB).total, large.total);
}

TEST(Pools, OfANodeAreItsShareOfTheMachines)
{
    MRZ_REQUIRE(geteuid() == 0, "needs root, to change a pool");
    const int node = host::nodes().front().id;
    const PoolGuard guard{2_MiB, 8, node};
    EXPECT_EQ(read_pool(2_MiB, node).free, 8U);
    EXPECT_GE(read_pool(2_MiB).free, 8U);
}

TEST(Pools, AShortfallIsReadBackAndNotBelieved)
{
    MRZ_REQUIRE(geteuid() == 0, "needs root, to change a pool");
    MRZ_REQUIRE(hugepage_sizes().back() >= 1_GiB, "needs a kernel with 1-GiB pages");
    const std::size_t page_size = hugepage_sizes().back();
    const Pool before = read_pool(page_size);
    // More than the machine has: the kernel gives what it finds. One page too few is enough for the purpose.
    const std::uint64_t memory = *host::nodes().front().memory_total;
    const PoolChange change = resize_pool(page_size, {}, memory / page_size + 1);
    const PoolChange back = resize_pool(page_size, {}, before.total - before.surplus);
    EXPECT_FALSE(change.met());
    EXPECT_LT(change.after.total, change.asked);
    EXPECT_TRUE(back.met());
}

} // namespace
} // namespace mrz::test
