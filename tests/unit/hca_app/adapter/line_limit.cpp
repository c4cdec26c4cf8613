// SPDX-License-Identifier: BSD-3-Clause
#include "line_limit.hpp"

#include <gtest/gtest.h>

#include <string>

namespace mrz {
namespace {

class LineLimitTest : public testing::Test {
  protected:
    std::optional<std::uint64_t> admits(const std::string& line) { return limit.admits(line, now); }
    //! Until one is left out. Returns how many were not.
    unsigned flood(const std::string& line)
    {
        unsigned said = 0;
        while (admits(line + std::to_string(said)))
            ++said;
        return said;
    }

    LineLimit limit;
    LineLimit::Clock::time_point now{std::chrono::hours{1}};
};

TEST_F(LineLimitTest, LeavesOutWhatComesTooOftenAndCountsIt)
{
    EXPECT_EQ(flood("CREATE_CQ (0x400): bad parameter "), LineLimit::at_once);
    EXPECT_FALSE(admits("CREATE_CQ (0x400): of another reason"));
    EXPECT_EQ(limit.untold(), 2U);
    now += LineLimit::interval;
    EXPECT_EQ(admits("CREATE_CQ (0x400): bad parameter"), 2U);
    EXPECT_EQ(limit.untold(), 0U);
    EXPECT_FALSE(admits("CREATE_CQ (0x400): bad parameter")) << "one an interval";
}

TEST_F(LineLimitTest, LetsOtherKindsThrough)
{
    flood("CREATE_CQ (0x400)");
    EXPECT_EQ(admits("CREATE_QP (0x500)"), 0U);
    EXPECT_EQ(admits("uid 1 left 2 objects"), 0U);
}

TEST_F(LineLimitTest, ForgivesInTime)
{
    flood("a");
    now += 2 * LineLimit::at_once * LineLimit::interval;
    EXPECT_EQ(flood("a"), LineLimit::at_once) << "and saves no more than that";
}

TEST_F(LineLimitTest, KnowsNotAnyNumberOfKinds)
{
    unsigned said = 0;
    for (int i = 0; i < 10000; ++i) {
        // A word that no other has: what a guest could make up.
        std::string word;
        for (int left = i; left != 0; left /= 26)
            word += static_cast<char>('a' + left % 26);
        if (admits("the driver is " + word))
            ++said;
    }
    EXPECT_LE(said, LineLimit::most_kinds + LineLimit::at_once);
}

} // namespace
} // namespace mrz
