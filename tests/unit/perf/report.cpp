// SPDX-License-Identifier: BSD-3-Clause
#include "report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace mrz::perf {
namespace {

using testing::HasSubstr;
using testing::Not;
using namespace mrz::literals;

Results results(std::uint64_t operations, std::size_t size, double seconds)
{
    return {.client = {.operations = {operations},
                       .bytes = operations * size,
                       .seconds = seconds,
                       .processor_seconds = 2 * seconds},
            .server = {.operations = {0}, .processor_seconds = seconds}};
}

ClientOptions options_of(std::vector<TierKind> registrations, unsigned rounds)
{
    ClientOptions options;
    options.sizes = {1_MiB};
    options.registrations = std::move(registrations);
    options.rounds = rounds;
    options.settings.largest = 1_MiB;
    options.settings.memory = 8_MiB;
    options.settings.cache = 4_MiB;
    return options;
}

Row row(TierKind registration, std::vector<double> seconds)
{
    Row row{.step = {.size = 1_MiB, .registration = registration}, .rounds = {}};
    for (const double one : seconds)
        row.rounds.push_back(results(100, 1_MiB, one));
    return row;
}

TEST(PerfReport, SumsUpARoundAsPerftestDoes)
{
    const Summary summary = summarize(row(TierKind::resident, {2}));
    EXPECT_DOUBLE_EQ(summary.operations, 100);
    EXPECT_DOUBLE_EQ(summary.average, 50.0 * (1 << 20));
    EXPECT_DOUBLE_EQ(summary.peak, summary.average); // over before there was a window
    EXPECT_DOUBLE_EQ(summary.rate, 50);
    EXPECT_DOUBLE_EQ(summary.client_processor, 4.0 / (100 << 20));
    EXPECT_DOUBLE_EQ(summary.server_processor, 2.0 / (100 << 20));
    const std::string text =
        rows_text(options_of({TierKind::resident}, 1), std::vector{row(TierKind::resident, {2})}, Unit::mebibytes);
    EXPECT_THAT(text, HasSubstr(" 1048576    100 "));
    EXPECT_THAT(text, HasSubstr(" 50.00 "));
    EXPECT_THAT(text, HasSubstr(" 0.000050"));
    EXPECT_THAT(
        rows_text(options_of({TierKind::resident}, 1), std::vector{row(TierKind::resident, {2})}, Unit::gigabits),
        HasSubstr(" 0.42 ")); // 50 MiB are 0.4194 Gbit
}

TEST(PerfReport, AddsBothDirections)
{
    Row both = row(TierKind::resident, {2});
    both.rounds[0].server = results(100, 1_MiB, 1).client;
    EXPECT_DOUBLE_EQ(summarize(both).average, 150.0 * (1 << 20));
    EXPECT_DOUBLE_EQ(summarize(both).operations, 200);
}

TEST(PerfReport, TakesMediansOfRounds)
{
    EXPECT_DOUBLE_EQ(summarize(row(TierKind::resident, {1, 50, 2})).average, 50.0 * (1 << 20));
    EXPECT_DOUBLE_EQ(summarize(row(TierKind::resident, {1, 2})).average, 75.0 * (1 << 20));
}

TEST(PerfReport, ComparesRoundsWithTheirLike)
{
    const Row base = row(TierKind::each_time, {4, 6, 9});
    const Row fast = row(TierKind::resident, {1, 3, 3});
    const Ratio ratio = ratio_of(fast, base); // 4, 2, 3
    EXPECT_DOUBLE_EQ(ratio.median, 3);
    EXPECT_DOUBLE_EQ(ratio.least, 2);
    EXPECT_DOUBLE_EQ(ratio.most, 4);
    ClientReport report;
    report.rows = {base, fast};
    const ClientOptions options = options_of({TierKind::each_time, TierKind::resident}, 3);
    EXPECT_THAT(tail_text(options, report), HasSubstr("3.00 (2.00 to 4.00)"));
    const app::Json json = report_json(options, report);
    EXPECT_DOUBLE_EQ(json["results"][1]["times_first"]["median"].get<double>(), 3);
}

TEST(PerfReport, OfLatenciesTheSmallerIsTheBetter)
{
    Row base = row(TierKind::each_time, {1});
    Row fast = row(TierKind::resident, {1});
    base.rounds[0].client.latency = {.count = 5, .median = 900};
    fast.rounds[0].client.latency = {.count = 5, .median = 300};
    EXPECT_DOUBLE_EQ(ratio_of(fast, base).median, 3);
}

TEST(PerfReport, SaysWhatIsKnownBefore)
{
    ClientReport report;
    report.device = "soft";
    report.driver = "soft";
    ClientOptions options = options_of({TierKind::resident}, 1);
    EXPECT_THAT(head_text(options, report, Unit::mebibytes), HasSubstr("BW average[MB/sec]"));
    EXPECT_THAT(head_text(options, report, Unit::gigabits), HasSubstr("BW average[Gb/sec]"));
    options.settings.latency = true;
    EXPECT_THAT(head_text(options, report, Unit::mebibytes), HasSubstr("99.9% percentile[usec]"));
    EXPECT_THAT(head_text(options, report, Unit::mebibytes), Not(HasSubstr("BW peak")));
}

TEST(PerfReport, OfTcpStandsBesideTheSameBytes)
{
    ClientReport report;
    report.driver = "soft";
    report.rows = {row(TierKind::resident, {1})};
    report.tcp.push_back({.size = 1_MiB,
                          .results = {.bytes = 100_MiB,
                                      .client = {.seconds = 2, .processor_seconds = 1},
                                      .server = {.seconds = 2, .processor_seconds = 1}}});
    const ClientOptions options = options_of({TierKind::resident}, 1);
    EXPECT_THAT(tail_text(options, report), HasSubstr("1.50")); // three seconds for two
    EXPECT_DOUBLE_EQ(report_json(options, report)["tcp"][0]["seconds"].get<double>(), 2);
}

TEST(PerfReport, WithoutARoundHasNoRow)
{
    ClientReport report;
    report.rows = {row(TierKind::resident, {})};
    report.interrupted = true;
    const app::Json json = report_json(options_of({TierKind::resident}, 1), report);
    EXPECT_TRUE(json["results"].empty());
    EXPECT_TRUE(json["interrupted"].get<bool>());
}

} // namespace
} // namespace mrz::perf
