// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! mrz-perf against itself over the guest's RDMA device: every operation, keys that refuse, and peers that are
//! killed.
#include "system/perf/ends.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

namespace mrz::test {
namespace {

using testing::HasSubstr;

nlohmann::json measured(const PerfServer& server, std::vector<std::string> options)
{
    options.emplace_back("--json");
    const ProgramResult result = run_client(server, options);
    if (result.status != 0)
        throw std::runtime_error{"status " + std::to_string(result.status) + ": " + result.out};
    return printed_object(result.out);
}

class PerfOverVerbs : public testing::TestWithParam<std::string> {
  protected:
    PerfServer server{{"--memory", "8M"}};
};

TEST_P(PerfOverVerbs, MovesEveryByteInBothDirections)
{
    for (const bool both : {false, true}) {
        std::vector<std::string> words{"--op", GetParam(), "--verify", "-n",       "50",  "-t",
                                       "8",    "-r",       "8",        "--memory", "256K"};
        if (both)
            words.emplace_back("--bidirectional");
        if (GetParam() != "atomic")
            words.insert(words.end(), {"-s", "12345"});
        const auto json = measured(server, words);
        EXPECT_EQ(json["driver"], "verbs");
        EXPECT_EQ(json["results"][0]["operations"], both ? 100 : 50);
    }
}

TEST_P(PerfOverVerbs, MeasuresLatency)
{
    const auto json = measured(server, {"--op", GetParam(), "--latency", "-n", "20", "--memory", "64K", "--verify"});
    EXPECT_EQ(json["results"][0]["latency_ns"]["count"], 20);
}

INSTANTIATE_TEST_SUITE_P(All, PerfOverVerbs, testing::Values("write", "read", "send", "atomic"),
                         [](const auto& of) { return of.param; });

TEST(PerfOverVerbsToo, MeasuresAllSizes)
{
    PerfServer server{{"--memory", "8M"}};
    const auto json = measured(server, {"-a", "-n", "2", "--memory", "8M"});
    ASSERT_EQ(json["results"].size(), 23U);
    EXPECT_EQ(json["results"].front()["size"], 2);
    EXPECT_EQ(json["results"].back()["size"], std::size_t{8} << 20);
}

TEST(PerfOverVerbsToo, SeesThatKeysRefuseWhatTheyMustOnTheWire)
{
    PerfServer server{{"--memory", "8M"}};
    for (const std::string operation : {"write", "read"}) {
        const auto json = measured(server, {"--refusals", "--op", operation});
        for (const auto& one : json["refusals"])
            EXPECT_TRUE(one["as_wanted"]) << operation << ": " << one;
    }
}

TEST(PerfOverVerbsToo, ComparesWaysToRegister)
{
    PerfServer server{{"--memory", "8M"}};
    const auto json = measured(
        server, {"--registration", "all", "-s", "4K", "-n", "100", "-t", "16", "--rounds", "1", "--memory", "1M"});
    ASSERT_EQ(json["results"].size(), 4U);
    for (const auto& one : json["results"]) {
        EXPECT_EQ(one["operations"], 100);
        std::printf("4 KiB writes over %s, registration %s: %.2f times each time's\n", perf_device().c_str(),
                    one["registration"].get<std::string>().c_str(), one["times_first"]["median"].get<double>());
    }
}

class PerfOverVerbsKilled : public testing::TestWithParam<std::string> {
  protected:
    std::vector<std::string> endless(const PerfServer& of)
    {
        return client_command(of, {"--op", GetParam(), "-D", "3600", "-s", "16K", "--memory", "1M", "-t", "8"});
    }
};

TEST_P(PerfOverVerbsKilled, ServerIsAnErrorOfItsClient)
{
    PerfServer server{{"--memory", "8M"}};
    Dialogue client{endless(server)};
    ASSERT_TRUE(client.hear("MsgRate", std::chrono::minutes{2})) << client.text();
    ASSERT_TRUE(wait_until_busy(client.pid()));
    ::kill(server.program().pid(), SIGKILL);
    const ProgramResult result = client.wait(std::chrono::minutes{2});
    EXPECT_EQ(result.status, peer_status) << result.out;
}

TEST_P(PerfOverVerbsKilled, ClientLeavesAServerThatServesOthersAndKeepsNothingPinned)
{
    PerfServer server{{"--memory", "8M"}};
    const std::vector<std::string> small{"-n", "20", "-s", "4K", "--memory", "64K", "--verify"};
    static_cast<void>(measured(server, small));
    ASSERT_TRUE(server.program().hear("done", std::chrono::minutes{1}));
    const std::uint64_t before = kept_in_place(server.program().pid());
    {
        Dialogue client{endless(server)};
        ASSERT_TRUE(client.hear("MsgRate", std::chrono::minutes{2})) << client.text();
        ASSERT_TRUE(wait_until_busy(client.pid()));
        EXPECT_GT(kept_in_place(server.program().pid()), before);
        ::kill(client.pid(), SIGKILL);
    }
    static_cast<void>(measured(server, small));
    ASSERT_TRUE(server.program().hear("done", std::chrono::minutes{1}));
    EXPECT_LE(kept_in_place(server.program().pid()), before);
}

INSTANTIATE_TEST_SUITE_P(All, PerfOverVerbsKilled, testing::Values("write", "send"),
                         [](const auto& of) { return of.param; });

} // namespace
} // namespace mrz::test
