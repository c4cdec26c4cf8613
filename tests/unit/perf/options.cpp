// SPDX-License-Identifier: BSD-3-Clause
#include "options.hpp"

#include "refused.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace mrz::perf {
namespace {

using test::trouble_of;
using testing::ElementsAre;
using namespace mrz::literals;

Options parse(std::vector<const char*> words)
{
    words.insert(words.begin(), "mrz-perf");
    return parse_options(static_cast<int>(words.size()), words.data());
}

ClientOptions client(std::vector<const char*> words)
{
    words.insert(words.begin(), {"client", "somewhere"});
    return parse(std::move(words)).client.value();
}

TEST(PerfOptions, HaveThoseOfPerftestForItsLetters)
{
    const ClientOptions options = client({"-d", "soft", "-p", "77", "-s", "4K", "-n",
                                          "12", "-t",   "13", "-r", "14", "-q", "2",
                                          "-Q", "3",    "-I", "16", "-b", "-F", "--report_gbits"});
    EXPECT_EQ(options.host, "somewhere");
    EXPECT_EQ(options.port, "77");
    EXPECT_EQ(options.device, "soft");
    EXPECT_THAT(options.sizes, ElementsAre(4_KiB));
    EXPECT_EQ(options.operations, 12U);
    EXPECT_TRUE(options.exactly);
    EXPECT_EQ(options.settings.depth, 13U);
    EXPECT_EQ(options.settings.receives, 14U);
    EXPECT_EQ(options.settings.queue_pairs, 2U);
    EXPECT_EQ(options.settings.signal_every, 3U);
    EXPECT_EQ(options.settings.inline_bytes, 16U);
    EXPECT_TRUE(options.settings.bidirectional);
    EXPECT_EQ(parse({"client", "x", "--report_gbits"}).unit, Unit::gigabits);
}

TEST(PerfOptions, HavePerftestsDefaults)
{
    const ClientOptions bandwidth = client({});
    EXPECT_EQ(bandwidth.port, "18515");
    EXPECT_THAT(bandwidth.sizes, ElementsAre(64_KiB));
    EXPECT_EQ(bandwidth.operations, 5000U);
    EXPECT_FALSE(bandwidth.exactly);
    EXPECT_EQ(bandwidth.settings.depth, 128U);
    EXPECT_EQ(bandwidth.settings.operation, Operation::write);
    EXPECT_EQ(bandwidth.settings.order, Order::sequential);
    const ClientOptions latency = client({"--latency"});
    EXPECT_THAT(latency.sizes, ElementsAre(2));
    EXPECT_EQ(latency.operations, 1000U);
    const ClientOptions atomic = client({"--op", "atomic", "-A", "CMP_AND_SWAP"});
    EXPECT_THAT(atomic.sizes, ElementsAre(8));
    EXPECT_EQ(atomic.settings.atomic, AtomicKind::compare_and_swap);
}

TEST(PerfOptions, AllSizesAreThePowersOfTwoFromTwoBytesToEightMebibytes)
{
    const std::vector<std::size_t> sizes = client({"-a"}).sizes;
    EXPECT_EQ(sizes.size(), 23U);
    EXPECT_EQ(sizes.front(), 2U);
    EXPECT_EQ(sizes.back(), 8_MiB);
    EXPECT_GE(client({"-a", "--threads", "64"}).settings.memory, 8_MiB);
}

TEST(PerfOptions, AllWaysToRegisterAreComparedInRoundsOnHotMemory)
{
    const ClientOptions options = client({"--registration", "all"});
    EXPECT_THAT(options.registrations,
                ElementsAre(TierKind::each_time, TierKind::temporary, TierKind::batch, TierKind::resident));
    EXPECT_EQ(options.rounds, 3U);
    EXPECT_EQ(options.settings.order, Order::hot);
    EXPECT_LT(options.settings.cache, options.settings.memory);
    EXPECT_EQ(client({"--registration", "each", "--order", "sequential"}).settings.order, Order::sequential);
}

TEST(PerfOptions, ThatContradictEachOtherAreRefused)
{
    const std::vector<std::vector<const char*>> refused{
        {"-n", "5", "-D", "1"},
        {"-a", "-s", "4K"},
        {"--op", "atomic", "-s", "16"},
        {"--op", "atomic", "-a"},
        {"--op", "walk"},
        {"--latency", "-b"},
        {"--latency", "-q", "2"},
        {"--arena"},
        {"--page", "3M"},
        {"-s", "2M", "--memory", "1M"},
        {"--memory", "5000"},
        {"--registration", "never"},
        {"--refusals", "--op", "send"},
        {"--refusals", "-b"},
        {"--compare-tcp", "--latency"},
        {"--compare-tcp", "-b"},
        {"-Q", "129"}, // more than are under way
        {"-D", "nan"},
        {"--timeout", "nan"},
        {"--timeout", "1"},
        {"-s", "0"},
        {"-s", "2G"},
        {"-t", "0"},
        {"extra"},
    };
    for (const auto& words : refused)
        EXPECT_EQ(trouble_of([&] { static_cast<void>(client(words)); }), Trouble::invalid)
            << testing::PrintToString(std::vector<std::string>{words.begin(), words.end()});
    EXPECT_EQ(trouble_of([] { static_cast<void>(parse({"client"})); }), Trouble::invalid);
    EXPECT_EQ(trouble_of([] { static_cast<void>(parse({})); }), Trouble::invalid);
    EXPECT_EQ(trouble_of([] { static_cast<void>(parse({"server", "--memory", "1"})); }), Trouble::invalid);
}

TEST(PerfOptions, OfAServerAreItsOwn)
{
    const ServerOptions options =
        parse({"server", "-p", "0", "--bind", "127.0.0.1", "--once", "--memory", "8M", "--timeout", "2"})
            .server.value();
    EXPECT_EQ(options.port, "0");
    EXPECT_EQ(options.bind, "127.0.0.1");
    EXPECT_TRUE(options.once);
    EXPECT_EQ(options.bytes, 8_MiB);
    EXPECT_EQ(options.patience.silence.count(), 2000);
    EXPECT_EQ(parse({"server"}).server.value().bytes, 256_MiB);
}

TEST(PerfOptions, HelpAndVersionArePrinted)
{
    EXPECT_THAT(parse({"--help"}).text.value(), testing::HasSubstr("client"));
    EXPECT_THAT(parse({"client", "--help"}).text.value(), testing::HasSubstr("--tx-depth"));
    EXPECT_THAT(parse({"--version"}).text.value(), testing::StartsWith("mrz-perf "));
}

} // namespace
} // namespace mrz::perf
