// SPDX-License-Identifier: BSD-3-Clause
#include <mrzone/hugepage.hpp>

#include <gtest/gtest.h>

#include <cstdint>

namespace mrz {
namespace {

TEST(SurplusPolicy, ExactIsNone)
{
    EXPECT_EQ(Surplus::exact().pages(512, 10000, 2_MiB), 0U);
    EXPECT_EQ(Surplus::exact(), Surplus::percent(0));
}

TEST(SurplusPolicy, APercentageIsOfTheNeedAndNeverMoreThanThereIs)
{
    EXPECT_EQ(Surplus::percent(100).pages(512, 10000, 2_MiB), 512U);
    EXPECT_EQ(Surplus::percent(250).pages(512, 10000, 2_MiB), 1280U);
    EXPECT_EQ(Surplus::percent(250).pages(512, 1000, 2_MiB), 1000U);
    EXPECT_EQ(Surplus::percent(~0U).pages(std::uint64_t{1} << 50, 1000, 2_MiB), 1000U);
}

TEST(SurplusPolicy, ASmallPercentageOfLittleIsStillAChoice)
{
    EXPECT_EQ(Surplus::percent(1).pages(1, 10000, 2_MiB), Surplus::least_bytes / 2_MiB);
    EXPECT_EQ(Surplus::percent(1).pages(1, 10000, 1_GiB), 0U);
}

TEST(SurplusPolicy, ThePoolIsAllOfItButAReserve)
{
    EXPECT_EQ(Surplus::pool(0).pages(1, 777, 2_MiB), 777U);
    EXPECT_EQ(Surplus::pool(64_MiB).pages(1, 777, 2_MiB), 777U - 32);
    EXPECT_EQ(Surplus::pool(64_MiB).pages(1, 32, 2_MiB), 0U);
    EXPECT_EQ(Surplus::pool(64_MiB).pages(1, 5, 1_GiB), 4U) << "rounded up";
    EXPECT_EQ(Surplus::pool().pages(1, 777, 2_MiB), 777 - Surplus::usual_reserve / 2_MiB);
}

} // namespace
} // namespace mrz
