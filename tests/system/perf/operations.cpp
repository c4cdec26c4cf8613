// SPDX-License-Identifier: BSD-3-Clause
#include "ends.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <tuple>
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

class PerfOperation : public testing::TestWithParam<std::tuple<std::string, bool>> {
  protected:
    [[nodiscard]] static std::vector<std::string> options()
    {
        std::vector<std::string> words{"--op", std::get<0>(GetParam()), "--verify", "--memory", "1M"};
        if (std::get<1>(GetParam()))
            words.emplace_back("--bidirectional");
        return words;
    }
};

TEST_P(PerfOperation, MovesEveryByteAndNoOther)
{
    PerfServer server;
    std::vector<std::string> sizes{"1", "7", "4K", "70001", "1M"};
    if (std::get<0>(GetParam()) == "atomic")
        sizes = {"8"};
    for (const std::string& size : sizes) {
        std::vector<std::string> words = options();
        words.insert(words.end(), {"-s", size, "-n", "300", "-t", "16", "-r", "16"});
        const auto json = measured(server, words);
        ASSERT_EQ(json["results"].size(), 1U);
        EXPECT_EQ(json["results"][0]["operations"], std::get<1>(GetParam()) ? 600 : 300) << size;
        EXPECT_GT(json["results"][0]["bytes_per_second"], 0);
    }
}

TEST_P(PerfOperation, RunsOnManyQueuePairsForATime)
{
    PerfServer server;
    std::vector<std::string> words = options();
    words.insert(words.end(), {"--threads", "2", "-q", "2", "-D", "0.2", "-Q", "7", "-t", "32"});
    if (std::get<0>(GetParam()) != "atomic")
        words.insert(words.end(), {"-s", "2K"});
    const auto json = measured(server, words);
    ASSERT_EQ(json["results"].size(), 1U);
    const auto& round = json["results"][0]["rounds"][0];
    for (const auto& count : round["client"]["operations"])
        EXPECT_GT(count, 0);
    EXPECT_EQ(round["client"]["operations"].size(), 4U);
    // From the first operation to the last completion within that time.
    EXPECT_GT(round["client"]["seconds"], 0.1);
}

INSTANTIATE_TEST_SUITE_P(All, PerfOperation,
                         testing::Combine(testing::Values("write", "read", "send", "atomic"), testing::Bool()),
                         [](const auto& of) {
                             return std::get<0>(of.param) + (std::get<1>(of.param) ? "BothWays" : "");
                         });

class PerfLatency : public testing::TestWithParam<std::string> {};

TEST_P(PerfLatency, IsOfEachOperation)
{
    PerfServer server;
    for (const std::string size : {"1", "8", "5000"}) {
        std::vector<std::string> words{"--latency", "--op", GetParam(), "-n", "200", "--verify", "--memory", "64K"};
        if (GetParam() != "atomic")
            words.insert(words.end(), {"-s", size});
        const auto json = measured(server, words);
        ASSERT_EQ(json["results"].size(), 1U);
        const auto& latency = json["results"][0]["latency_ns"];
        EXPECT_EQ(latency["count"], 200);
        EXPECT_GT(latency["min"], 0);
        EXPECT_LE(latency["min"], latency["p50"]);
        EXPECT_LE(latency["p50"], latency["p99"]);
        EXPECT_LE(latency["p99"], latency["p99_9"]);
        EXPECT_LE(latency["p99_9"], latency["max"]);
    }
}

TEST_P(PerfLatency, IsMeasuredForATime)
{
    PerfServer server;
    const auto json = measured(server, {"--latency", "--op", GetParam(), "-D", "0.2", "--verify"});
    EXPECT_GT(json["results"][0]["latency_ns"]["count"], 0);
}

INSTANTIATE_TEST_SUITE_P(All, PerfLatency, testing::Values("write", "read", "send", "atomic"),
                         [](const auto& of) { return of.param; });

TEST(Perf, SwapsWhereTheWordIsAsExpected)
{
    PerfServer server;
    const auto json =
        measured(server, {"--op", "atomic", "--atomic-type", "compare-and-swap", "-n", "500", "--verify"});
    EXPECT_EQ(json["settings"]["atomic"], "compare-and-swap");
    EXPECT_EQ(json["results"][0]["operations"], 500);
}

TEST(Perf, CarriesSmallOnesInline)
{
    PerfServer server;
    for (const std::string operation : {"write", "send"})
        EXPECT_EQ(measured(server, {"--op", operation, "-s", "16", "-I", "16", "-n", "200",
                                    "--verify"})["results"][0]["operations"],
                  200);
}

TEST(Perf, MeasuresAllSizesInATableAsPerftests)
{
    PerfServer server;
    const ProgramResult result = run_client(server, {"-a", "-n", "10", "--memory", "8M"});
    EXPECT_EQ(result.status, 0) << result.out;
    EXPECT_THAT(result.out, HasSubstr(" #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   "
                                      "MsgRate[Mpps]\n"));
    for (std::size_t size = 2; size <= std::size_t{8} << 20; size *= 2)
        EXPECT_THAT(result.out, HasSubstr("\n " + std::to_string(size) + " "));
}

class PerfRegistration : public testing::TestWithParam<std::string> {};

TEST_P(PerfRegistration, GivesKeysThatMoveEveryByte)
{
    PerfServer server;
    for (const std::string operation : {"write", "read", "send"}) {
        const auto json = measured(server, {"--registration", GetParam(), "--op", operation, "-s", "8K", "-n", "300",
                                            "-t", "16", "--memory", "1M", "--verify"});
        ASSERT_EQ(json["results"].size(), 1U);
        EXPECT_EQ(json["results"][0]["registration"], GetParam());
        EXPECT_EQ(json["results"][0]["operations"], 300);
    }
}

INSTANTIATE_TEST_SUITE_P(All, PerfRegistration, testing::Values("each", "temporary", "batch", "resident"),
                         [](const auto& of) { return of.param; });

TEST_P(PerfRegistration, HasNoMoreUnderWayThanACacheHasRoomFor)
{
    PerfServer server;
    const std::vector<std::vector<std::string>> all = {{"-s", "8M", "-n", "8"},
                                                       {"-s", "64K", "-n", "200", "--cache", "1M"}};
    for (std::vector<std::string> words : all) {
        words.insert(words.end(), {"--registration", GetParam()});
        EXPECT_GT(measured(server, words)["results"][0]["operations"], 0);
    }
}

TEST(Perf, ComparesWaysToRegisterByTurns)
{
    PerfServer server;
    const std::vector<std::string> words{"--registration", "all", "-s", "4K", "-n", "400", "--memory", "2M"};
    const auto json = measured(server, words);
    ASSERT_EQ(json["results"].size(), 4U);
    for (const auto& one : json["results"]) {
        EXPECT_EQ(one["rounds"].size(), 3U);
        EXPECT_GT(one["times_first"]["median"], 0);
    }
    EXPECT_DOUBLE_EQ(json["results"][0]["times_first"]["median"].get<double>(), 1);
    const ProgramResult text = run_client(server, words);
    EXPECT_THAT(text.out, HasSubstr("Registering each time, by turns with the others in 3 rounds"));
}

TEST(Perf, SeesThatKeysRefuseWhatTheyMust)
{
    PerfServer server;
    for (const std::string operation : {"write", "read", "atomic"}) {
        const auto json = measured(server, {"--refusals", "--op", operation});
        ASSERT_EQ(json["refusals"].size(), 7U);
        for (const auto& one : json["refusals"])
            EXPECT_TRUE(one["as_wanted"]) << operation << ": " << one;
        EXPECT_EQ(json["refusals"].back()["ended_with"], "success");
    }
}

TEST(Perf, MovesTheSameBytesByTcp)
{
    PerfServer server;
    for (const std::string operation : {"write", "read"}) {
        const auto json = measured(server, {"--op", operation, "--compare-tcp", "-s", "64K", "-n", "320", "--threads",
                                            "2", "--memory", "1M"});
        ASSERT_EQ(json["tcp"].size(), 1U);
        EXPECT_EQ(json["tcp"][0]["bytes"], 2 * 320 * 65536);
        EXPECT_GT(json["tcp"][0]["seconds"], 0);
    }
}

} // namespace
} // namespace mrz::test
