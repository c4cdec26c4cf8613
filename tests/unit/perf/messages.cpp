// SPDX-License-Identifier: BSD-3-Clause
#include "from_peer.hpp"
#include "hello.hpp"
#include "outcome.hpp"
#include "rate.hpp"

#include "refused.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace mrz::perf {
namespace {

using test::trouble_of;

TEST(PerfHello, ComesOverAsItIsWithPadding)
{
    const Hello hello{.role = Hello::Role::data, .stream = 0x1234, .session = 0x0102'0304'0506'0708};
    const auto packed = hello.pack();
    ASSERT_LE(packed.size(), most_private_data);
    std::vector<std::byte> padded{packed.begin(), packed.end()};
    padded.resize(most_private_data);
    const Hello found = Hello::unpack(padded);
    EXPECT_EQ(found.role, hello.role);
    EXPECT_EQ(found.stream, hello.stream);
    EXPECT_EQ(found.session, hello.session);
}

TEST(PerfHello, OfAnotherVersionOrProgramIsRefusedInAFewWords)
{
    const auto good = Hello{.role = Hello::Role::control}.pack();
    for (std::size_t at = 0; at < 6; ++at) { // magic, version, role
        auto bytes = good;
        bytes[at] ^= std::byte{0x40};
        try {
            static_cast<void>(Hello::unpack(bytes));
            ADD_FAILURE() << at;
        } catch (const Error& error) {
            EXPECT_EQ(error.cause().trouble, Trouble::peer);
            EXPECT_LE(error.cause().limit.size(), most_private_data);
            EXPECT_EQ(error.cause().limit.find("protocol") != std::string::npos, at == 4);
        }
    }
    EXPECT_EQ(trouble_of([&] { static_cast<void>(Hello::unpack(std::span{good}.first(15))); }), Trouble::peer);
    EXPECT_EQ(trouble_of([&] { static_cast<void>(Hello::unpack({})); }), Trouble::peer);
}

TEST(PerfMessages, TextOfAPeerDoesNotSteerATerminal)
{
    EXPECT_EQ(text_from({{"what", "a\x1b[2Jb\nc"}}, "what"), "a?[2Jb?c");
    EXPECT_EQ(text_from({{"what", "a\xc2\x9b"
                                  "2J"}},
                        "what"),
              "a??2J"); // U+009B begins a command, too
    EXPECT_EQ(trouble_of([] {
                  static_cast<void>(text_from({{"what", std::string(1025, 'x')}}, "what"));
              }),
              Trouble::peer);
}

Outcome example()
{
    return {.operations = {3, 4},
            .bytes = 700,
            .seconds = 2,
            .peak = 400.5,
            .processor_seconds = 0.25,
            .latency =
                {.count = 7, .least = 1, .most = 9, .average = 4, .deviation = 2, .median = 3, .p99 = 8, .p99_9 = 9},
            .verified = 64,
            .interrupted = true};
}

TEST(PerfOutcome, ComesOverAsItIs)
{
    const Json json = Json::parse(to_json(example()).dump());
    EXPECT_EQ(to_json(outcome_from(json, 2)), to_json(example()));
    EXPECT_EQ(outcome_from(json, 2).total_operations(), 7U);
    EXPECT_EQ(outcome_from(json, 2).rate(), 350);
    Outcome short_one = example();
    short_one.peak.reset();
    EXPECT_EQ(to_json(outcome_from(to_json(short_one), 2)), to_json(short_one));
}

TEST(PerfOutcome, OfAPeerThatIsNoneIsRefused)
{
    EXPECT_EQ(trouble_of([] { static_cast<void>(outcome_from(to_json(example()), 3)); }), Trouble::peer);
    const Json all = to_json(example());
    for (const auto& [name, value] : all.items()) {
        Json json = all;
        json.erase(name);
        EXPECT_EQ(trouble_of([&] { static_cast<void>(outcome_from(json, 2)); }), Trouble::peer) << name;
        json[name] = "?";
        EXPECT_EQ(trouble_of([&] { static_cast<void>(outcome_from(json, 2)); }), Trouble::peer) << name;
    }
    Json json = to_json(example());
    json["operations"][1] = -1;
    EXPECT_EQ(trouble_of([&] { static_cast<void>(outcome_from(json, 2)); }), Trouble::peer);
    json = to_json(example());
    json["seconds"] = -0.5;
    EXPECT_EQ(trouble_of([&] { static_cast<void>(outcome_from(json, 2)); }), Trouble::peer);
}

TEST(PerfRate, IsOfTheBestWindowThatIsOver)
{
    RateWindows windows;
    const RateWindows::Clock::time_point begin{std::chrono::seconds{5}};
    windows.begin(begin);
    const auto at = [begin](int milliseconds) { return begin + std::chrono::milliseconds{milliseconds}; };
    windows.add(100, at(1));
    windows.add(200, at(11));
    windows.add(300, at(12));
    windows.add(5000, at(25)); // in one that has only begun
    EXPECT_EQ(windows.peak(at(9)), std::nullopt);
    EXPECT_DOUBLE_EQ(windows.peak(at(10)).value(), 100 / 0.01);
    EXPECT_DOUBLE_EQ(windows.peak(at(29)).value(), 500 / 0.01);
    EXPECT_DOUBLE_EQ(windows.peak(at(30)).value(), 5000 / 0.01);
    windows.add(1, at(1'000'000)); // no place for it
    EXPECT_DOUBLE_EQ(windows.peak(at(1'000'000)).value(), 5000 / 0.01);
}

} // namespace
} // namespace mrz::perf
