// SPDX-License-Identifier: BSD-3-Clause
#include "ends.hpp"

#include "support/require.hpp"

#include <gtest/gtest.h>

#include <string>
#include <unistd.h>
#include <vector>

namespace mrz::test {
namespace {

class PerfHugepages : public testing::TestWithParam<std::vector<std::string>> {};

TEST_P(PerfHugepages, OfBothEndsMoveEveryByte)
{
    MRZ_REQUIRE(::geteuid() == 0, "reserves hugepages, which needs root");
    std::vector<std::string> words = GetParam();
    words.insert(words.end(), {"--memory", "8M"});
    PerfServer server{words};
    for (const std::string operation : {"write", "read"}) {
        std::vector<std::string> options = words;
        options.insert(options.end(), {"--op", operation, "-s", "64K", "-n", "300", "--verify", "--json"});
        const ProgramResult result = run_client(server, options);
        ASSERT_EQ(result.status, 0) << result.out;
        EXPECT_EQ(printed_object(result.out)["page"], std::size_t{2} << 20);
    }
    ::kill(server.program().pid(), SIGINT);
    EXPECT_EQ(server.program().wait().status, 0) << server.program().text();
}

INSTANTIATE_TEST_SUITE_P(All, PerfHugepages,
                         testing::Values(std::vector<std::string>{"--page", "2M"},
                                         std::vector<std::string>{"--page", "2M", "--arena"}),
                         [](const auto& of) { return of.param.size() == 2 ? "Plain" : "OfAnArena"; });

} // namespace
} // namespace mrz::test
