// SPDX-License-Identifier: BSD-3-Clause
#include <mrzone/listed.hpp>

#include "support/in_child.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace mrz::test {
namespace {

struct Thing {
    explicit Thing(const std::string& name) : listed{std::in_place, *this, name} {}
    ~Thing()
    {
        listed.reset();
        alive = false;
    }
    Thing(const Thing&) = delete;
    Thing& operator=(const Thing&) = delete;

    std::atomic<bool> alive = true;
    std::optional<Listed<Thing>> listed;
};

std::vector<std::string> names()
{
    std::vector<std::string> all;
    for (const Living& one : Listed<Thing>::living())
        all.push_back(one.name);
    return all;
}

TEST(Listed, HasTheLivingInTheOrderOfTheirMaking)
{
    const Thing a{"a"};
    auto b = std::make_unique<Thing>("b");
    const Thing c{"a"};
    EXPECT_EQ(names(), (std::vector<std::string>{"a", "b", "a"}));
    b.reset();
    EXPECT_EQ(names(), (std::vector<std::string>{"a", "a"}));
}

TEST(Listed, NeverGivesANumberTwice)
{
    std::uint64_t last = Thing{"first"}.listed->number();
    for (int i = 0; i < 3; ++i) {
        const Thing next{"next"};
        EXPECT_EQ(next.listed->number(), last + 1);
        last = next.listed->number();
        EXPECT_EQ(Listed<Thing>::living(), (std::vector<Living>{{last, "next"}}));
    }
}

TEST(Listed, ShowsTheObjectOfANumberAsLongAsItLives)
{
    auto thing = std::make_unique<Thing>("it");
    const std::uint64_t number = thing->listed->number();
    const Thing* seen = nullptr;
    EXPECT_TRUE(Listed<Thing>::visit(number, [&](Thing& it) { seen = &it; }));
    EXPECT_EQ(seen, thing.get());
    EXPECT_FALSE(Listed<Thing>::visit(number + 1, [](Thing&) { ADD_FAILURE(); }));
    thing.reset();
    EXPECT_FALSE(Listed<Thing>::visit(number, [](Thing&) { ADD_FAILURE(); }));
}

TEST(Listed, WhoLooksSeesOnlyTheLivingWhileOthersComeAndGo)
{
    constexpr int rounds = 2000;
    std::atomic<int> making = 2;
    const auto make = [&] {
        for (int i = 0; i < rounds; ++i) {
            const Thing one{"one"};
            const Thing other{"other"};
        }
        --making;
    };
    std::thread makers[] = {std::thread{make}, std::thread{make}};
    std::size_t seen = 0;
    while (making > 0)
        for (const Living& living : Listed<Thing>::living())
            Listed<Thing>::visit(living.number, [&](Thing& thing) {
                EXPECT_TRUE(thing.alive);
                ++seen;
            });
    for (std::thread& maker : makers)
        maker.join();
    EXPECT_EQ(names().size(), 0u);
    RecordProperty("seen", std::to_string(seen));
}

TEST(Listed, AChildOfForkHasOnlyItsOwn)
{
    Thing parents{"parent's"};
    // As if another thread were looking at it at that moment.
    Listed<Thing>::visit(parents.listed->number(), [&](Thing&) {
        in_child([&] {
            alarm(30);
            EXPECT_EQ(names().size(), 0u);
            const Thing own{"own"};
            EXPECT_EQ(own.listed->number(), 0u);
            EXPECT_EQ(names(), std::vector<std::string>{"own"});
            parents.listed.reset(); // does not wait
            EXPECT_EQ(names(), std::vector<std::string>{"own"});
        });
    });
    EXPECT_EQ(names(), std::vector<std::string>{"parent's"});
}

} // namespace
} // namespace mrz::test
