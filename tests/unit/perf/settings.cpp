// SPDX-License-Identifier: BSD-3-Clause
#include "settings.hpp"

#include "refused.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

namespace mrz::perf {
namespace {

using test::trouble_of;
using namespace mrz::literals;

Settings example()
{
    return {.operation = Operation::read,
            .verify = true,
            .order = Order::hot,
            .threads = 3,
            .queue_pairs = 2,
            .depth = 16,
            .receives = 17,
            .inline_bytes = 18,
            .signal_every = 4,
            .memory = 8_MiB,
            .largest = 1_MiB,
            .cache = 2_MiB};
}

TEST(PerfSettings, ComeOverAsTheyAre)
{
    const Json json = Json::parse(to_json(example()).dump());
    EXPECT_EQ(to_json(settings_from(json)), to_json(example()));
    Settings other = example();
    other.operation = Operation::atomic;
    other.atomic = AtomicKind::compare_and_swap;
    other.largest = 8;
    other.bidirectional = true;
    EXPECT_EQ(to_json(settings_from(to_json(other))), to_json(other));
}

TEST(PerfSettings, OfAPeerAreRefusedWithAnythingMissingOrOfAnotherKind)
{
    const Json all = to_json(example());
    for (const auto& [name, value] : all.items()) {
        Json json = all;
        json.erase(name);
        EXPECT_EQ(trouble_of([&] { static_cast<void>(settings_from(json)); }), Trouble::peer) << name;
        for (const Json& wrong : {Json(nullptr), Json(-1), Json(1.5), Json::array(), Json::object(), Json("?")}) {
            json[name] = wrong;
            EXPECT_EQ(trouble_of([&] { static_cast<void>(settings_from(json)); }), Trouble::peer)
                << name << " " << wrong;
        }
    }
    for (const Json& none : {Json(nullptr), Json::array(), Json(7), Json("settings")})
        EXPECT_EQ(trouble_of([&] { static_cast<void>(settings_from(none)); }), Trouble::peer);
}

TEST(PerfSettings, ThatMakeNoSenseAreRefused)
{
    const std::vector<std::function<void(Settings&)>> changes{
        [](Settings& one) { one.threads = 0; },
        [](Settings& one) { one.threads = most_streams + 1; },
        [](Settings& one) { one.threads = one.queue_pairs = 100; }, // each for itself would do
        [](Settings& one) { one.depth = 0; },
        [](Settings& one) { one.depth = most_depth + 1; },
        [](Settings& one) { one.receives = 0; },
        [](Settings& one) { one.signal_every = 0; },
        [](Settings& one) { one.signal_every = one.depth + 1; },
        [](Settings& one) { one.memory = 0; },
        [](Settings& one) { one.memory = 8_MiB + 1; },
        [](Settings& one) { one.memory = ~std::size_t{0} - 4095; },
        [](Settings& one) { one.largest = 0; },
        [](Settings& one) { one.largest = one.memory + 1; },
        [](Settings& one) { one.cache = 0; },
        [](Settings& one) { one.operation = Operation::atomic; }, // of a megabyte
        [](Settings& one) { one.latency = true; },                // of several queue pairs
        [](Settings& one) {
            one.threads = one.queue_pairs = 1;
            one.latency = one.bidirectional = true;
        },
    };
    EXPECT_EQ(trouble_of([] { check(example()); }), std::nullopt);
    for (std::size_t i = 0; i < changes.size(); ++i) {
        Settings settings = example();
        changes[i](settings);
        EXPECT_EQ(trouble_of([&] { check(settings); }), Trouble::invalid) << i;
        EXPECT_EQ(trouble_of([&] { static_cast<void>(settings_from(to_json(settings))); }), Trouble::peer) << i;
    }
}

TEST(PerfSettings, BothEndsBeginWhereTheyAnswerOrAreToldTo)
{
    Settings settings = example();
    EXPECT_FALSE(settings.both_begin());
    settings.bidirectional = true;
    EXPECT_TRUE(settings.both_begin());
    settings.bidirectional = false;
    settings.latency = true;
    EXPECT_FALSE(settings.both_begin()); // of reads
    settings.operation = Operation::write;
    EXPECT_TRUE(settings.both_begin());
}

TEST(PerfStep, ComesOverAsItIs)
{
    const Step step{.size = 4096,
                    .registration = TierKind::batch,
                    .operations = 0,
                    .duration = std::chrono::milliseconds{1500},
                    .seed = ~std::uint64_t{0} >> 1};
    EXPECT_EQ(to_json(step_from(Json::parse(to_json(step).dump()), example())), to_json(step));
}

TEST(PerfStep, OfAPeerThatMakesNoSenseIsRefused)
{
    const Step good{.size = 4096, .operations = 5, .seed = 1};
    const std::vector<std::function<void(Json&)>> changes{
        [](Json& json) { json["size"] = 0; },
        [](Json& json) { json["size"] = 1_MiB + 1; }, // more than was agreed on
        [](Json& json) { json["operations"] = most_operations + 1; },
        [](Json& json) { json["operations"] = 0; }, // and no duration either
        [](Json& json) {
            json["operations"] = 0;
            json["duration_ms"] = 86'400'001;
        },
        [](Json& json) { json["duration_ms"] = ~std::uint64_t{0}; },
        [](Json& json) { json["registration"] = "all"; },
        [](Json& json) { json["seed"] = "7"; },
    };
    for (std::size_t i = 0; i < changes.size(); ++i) {
        Json json = to_json(good);
        changes[i](json);
        EXPECT_EQ(trouble_of([&] { static_cast<void>(step_from(json, example())); }), Trouble::peer) << i;
    }
}

} // namespace
} // namespace mrz::perf
