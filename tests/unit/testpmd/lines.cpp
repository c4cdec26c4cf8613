// SPDX-License-Identifier: BSD-3-Clause
#include "testpmd/lines.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace mrz::testpmd {
namespace {

struct Reader {
    std::vector<std::string> seen;
    int left_out = 0;
    Lines lines{[this](const std::string& line) {
                    seen.push_back(line);
                    return line != "quit";
                },
                [this] { ++left_out; }};
};

TEST(Lines, AreWholeHoweverTheyCome)
{
    Reader reader;
    for (const char c : std::string{"start\r\n\nstop\nshow"})
        EXPECT_TRUE(reader.lines.add({&c, 1}));
    EXPECT_TRUE(reader.lines.finish());
    EXPECT_EQ(reader.seen, (std::vector<std::string>{"start", "", "stop", "show"}));
}

TEST(Lines, EndWhereOneSaysSo)
{
    Reader reader;
    EXPECT_FALSE(reader.lines.add("start\nquit\nstop\n"));
    EXPECT_EQ(reader.seen, (std::vector<std::string>{"start", "quit"}));
}

TEST(Lines, OfAnyLengthCostNoMemoryAndSpareTheNext)
{
    Reader reader;
    const std::string longest(Lines::longest, 'a');
    EXPECT_TRUE(reader.lines.add(longest + "\n"));
    for (int i = 0; i < 3; ++i)
        EXPECT_TRUE(reader.lines.add(longest));
    EXPECT_TRUE(reader.lines.add("\nstop\n"));
    EXPECT_EQ(reader.seen, (std::vector<std::string>{longest, "stop"}));
    EXPECT_EQ(reader.left_out, 1);
}

} // namespace
} // namespace mrz::testpmd
