// SPDX-License-Identifier: BSD-3-Clause
#include <mrzone/hugepage.hpp>

#include "support/pool_guard.hpp"
#include "support/require.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>

#include <sys/mman.h>
#include <unistd.h>

namespace mrz::test {
namespace {

std::vector<DmaAddress> sorted(std::vector<DmaAddress> frames)
{
    std::sort(frames.begin(), frames.end());
    return frames;
}

TEST(FreePagesOfAPool, AreSeenWhereTheyAreAndGivenBackInOrder)
{
    MRZ_REQUIRE(geteuid() == 0, "needs root, to change a pool and to see frames");
    const PoolGuard pool{2_MiB, 64};
    scramble_pool(2_MiB);
    const FreePages found = look_at_free_pages(2_MiB);
    EXPECT_EQ(found.pages, 64U);
    EXPECT_FALSE(found.hidden);
    EXPECT_EQ(pool.free(), 64U);
    const std::vector<DmaAddress> taken = TakenPages{2_MiB, 64}.frames();
    EXPECT_EQ(taken, sorted(taken)) << "they come in order now";
    EXPECT_EQ(found.frames, taken);
}

TEST(FreePagesOfAPool, AreLeftAloneWhereTheyAreReservedOrNotWanted)
{
    MRZ_REQUIRE(geteuid() == 0, "needs root, to change a pool and to see frames");
    const PoolGuard pool{2_MiB, 16};
    void* const promised = mmap(nullptr, 12_MiB, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | (21 << MAP_HUGE_SHIFT), -1, 0);
    ASSERT_NE(promised, MAP_FAILED);
    EXPECT_EQ(look_at_free_pages(2_MiB).pages, 10U);
    EXPECT_EQ(look_at_free_pages(2_MiB, {}, 3).pages, 3U);
    EXPECT_EQ(look_at_free_pages(2_MiB, {}, 0).pages, 0U);
    EXPECT_EQ(madvise(promised, 12_MiB, MADV_POPULATE_WRITE), 0) << "nobody took what was promised";
    munmap(promised, 12_MiB);
}

TEST(FreePagesOfAPool, AreGivenBackWhenTheLookIsBrokenOff)
{
    MRZ_REQUIRE(geteuid() == 0, "needs root, to change a pool and to see frames");
    const PoolGuard pool{2_MiB, 16};
    EXPECT_THROW(look_at_free_pages(2_MiB, {}, 16,
                                    [](const BuildProgress& progress) {
                                        if (progress.taken >= 32_MiB)
                                            throw std::runtime_error{"enough"};
                                    }),
                 std::runtime_error);
    EXPECT_EQ(pool.free(), 16U);
}

} // namespace
} // namespace mrz::test
