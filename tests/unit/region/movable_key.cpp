// SPDX-License-Identifier: BSD-3-Clause
#include <mrzone/movable_key.hpp>

#include "support/fake_driver.hpp"
#include "support/refusal.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <functional>
#include <future>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

namespace mrz::test {
namespace {

class MovableKeyTest : public testing::Test {
  protected:
    void SetUp() override
    {
        script() = {};
        script().on_lead = [this](Iova at, std::span<const KeyPart> parts) {
            begins = at;
            led.assign(parts.begin(), parts.end());
        };
    }
    void TearDown() override
    {
        EXPECT_EQ(script().movable_keys, 0);
        EXPECT_NO_THROW(domain.close());
    }
    [[nodiscard]] std::span<std::byte> at(std::size_t offset, std::size_t length)
    {
        return std::span{memory}.subspan(offset, length);
    }

    std::vector<std::byte> memory = std::vector<std::byte>(100000);
    Domain domain = Domain::open("soft");
    Iova begins;
    std::vector<KeyPart> led;
};

TEST_F(MovableKeyTest, LeadsThroughTheRegionsOwnKeysInTheirSpaces)
{
    const Iova iova{0x40'0000'0000 + reinterpret_cast<std::uintptr_t>(memory.data()) % 4096};
    const Region here = domain.register_memory(at(0, 50000), Access::local_write, {.iova = iova});
    const Region there = domain.register_memory(at(50000, 50000), Access::local_write);
    MovableKey key{domain};
    const std::array parts{RegionPart{there, at(60000, 5)}, RegionPart{here, at(77, 9)}};
    const RemoteRegion remote = key.lead_to(parts);
    EXPECT_EQ(begins.value(), reinterpret_cast<std::uintptr_t>(&memory[60000]));
    ASSERT_EQ(led.size(), 2U);
    EXPECT_EQ(led[0].lkey, there.lkey());
    EXPECT_EQ(led[0].iova, there.iova() + 10000);
    EXPECT_EQ(led[0].length, 5U);
    EXPECT_EQ(led[1].lkey, here.lkey());
    EXPECT_EQ(led[1].iova, iova + 77);
    EXPECT_EQ(remote.iova, begins);
    EXPECT_EQ(remote.length, 14U);
    EXPECT_EQ(remote.page_shift, std::min(here.plan().keys.front().page_shift, there.plan().keys.front().page_shift));
}

TEST_F(MovableKeyTest, HasAnEntryForEachTwoGibibytesOfAPart)
{
    script().limits.indirect.max_klm_bytes = 8192; // as if it were that
    const Region region = domain.register_memory(at(0, 20000), Access::local_write);
    MovableKey few{domain, {.entries = 2}};
    const Error error = refusal([&] { static_cast<void>(few.lead_to(region)); });
    EXPECT_EQ(error.error_number(), E2BIG);
    EXPECT_EQ(error.cause().present, 2U);
    EXPECT_EQ(error.cause().need, 3U);
    MovableKey key{domain, {.entries = 3}};
    EXPECT_EQ(key.lead_to(region).length, 20000U);
    ASSERT_EQ(led.size(), 3U);
    for (std::size_t i = 0; i < led.size(); ++i) {
        EXPECT_EQ(led[i].iova, region.iova() + i * 8192);
        EXPECT_EQ(led[i].length, i == 2 ? 20000U - 2 * 8192 : 8192U);
    }
}

TEST_F(MovableKeyTest, IsLedNowhereBeforeItsRegionIsDeregistered)
{
    std::optional<Region> region{domain.register_memory(at(0, 4096), Access::local_write)};
    const Region stays = domain.register_memory(at(8192, 4096), Access::local_write);
    MovableKey first{domain};
    MovableKey second{domain};
    MovableKey third{domain};
    const std::array twice{RegionPart{*region, at(0, 8)}, RegionPart{*region, at(8, 8)},
                           RegionPart{stays, at(8192, 8)}};
    first.lead_to(twice);
    second.lead_to(*region);
    third.lead_to(stays);
    int led_nowhere = 0;
    script().on_deregister = [&](LKey) { led_nowhere = script().led_nowhere; };
    region.reset();
    EXPECT_EQ(led_nowhere, 2);
    EXPECT_FALSE(first.remote());
    EXPECT_FALSE(second.remote());
    EXPECT_TRUE(third.remote());
}

TEST_F(MovableKeyTest, ThatTheDeviceCouldNotMoveLeadsNowhere)
{
    std::optional<Region> region{domain.register_memory(at(0, 4096), Access::local_write)};
    MovableKey key{domain};
    key.lead_to(*region);
    script().on_lead = [](Iova, std::span<const KeyPart>) {
        throw Error{EIO, {.what = "leading it", .limit = "no", .remedy = {}}};
    };
    EXPECT_EQ(refusal([&] { static_cast<void>(key.lead_to(*region)); }).error_number(), EIO);
    EXPECT_FALSE(key.remote());
    EXPECT_EQ(script().led_nowhere, 1) << "it may lead where it did";
    const int before = script().led_nowhere;
    region.reset();
    EXPECT_EQ(script().led_nowhere, before);
}

TEST_F(MovableKeyTest, GrantsAtomicsOnlyWhereWritesAreSurelyInOrder)
{
    const Region region = domain.register_memory(at(0, 4096), Access::local_write);
    MovableKey atomics{domain, {.access = Access::remote_atomic}};
    MovableKey writes{domain, {.access = Access::remote_write}};
    for (const std::optional<Ordering> ordering : {std::optional{Ordering::relaxed}, std::optional<Ordering>{}}) {
        script().ordering = ordering;
        EXPECT_EQ(refusal([&] { static_cast<void>(atomics.lead_to(region)); }).error_number(), EACCES);
        EXPECT_NO_THROW(static_cast<void>(writes.lead_to(region)));
    }
    script().ordering = Ordering::strict;
    EXPECT_NO_THROW(static_cast<void>(atomics.lead_to(region)));
}

TEST_F(MovableKeyTest, MayEndBeforeWhatItLeadsTo)
{
    std::optional<Region> region{domain.register_memory(at(0, 4096), Access::local_write)};
    {
        MovableKey key{domain};
        key.lead_to(*region);
    }
    region.reset();
    EXPECT_EQ(script().led_nowhere, 0) << "it is no more";
}

TEST_F(MovableKeyTest, IsRefusedWhereTheDriverHasNone)
{
    script().movable = false;
    const Error error = refusal([&] { MovableKey{domain}; });
    EXPECT_EQ(error.error_number(), ENOTSUP);
    EXPECT_EQ(error.cause().trouble, Trouble::unsupported);
    EXPECT_EQ(domain.snapshot().movable_keys, 0U);
}

//! A device that has gone wrong takes seconds, and whoever looks at the domain meanwhile would hold others up.
TEST_F(MovableKeyTest, IsCountedWhileOneIsBeingLed)
{
    const Region region = domain.register_memory(at(0, 4096), Access::local_write);
    MovableKey key{domain};
    std::promise<void> begun;
    std::promise<void> counted;
    script().on_lead = [&](Iova, std::span<const KeyPart>) {
        begun.set_value();
        EXPECT_EQ(counted.get_future().wait_for(std::chrono::seconds{20}), std::future_status::ready);
    };
    std::jthread leader{[&] { key.lead_to(region); }};
    begun.get_future().wait();
    EXPECT_EQ(domain.snapshot().movable_keys, 1U);
    counted.set_value();
}

TEST_F(MovableKeyTest, IsItsParentsInAChildOfFork)
{
    const Region region = domain.register_memory(at(0, 4096), Access::local_write);
    std::optional<MovableKey> key{std::in_place, domain};
    key->lead_to(region);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        int wrong = 0;
        for (const std::function<void()>& call : std::initializer_list<std::function<void()>>{
                 [&] { static_cast<void>(key->lead_to(region)); }, [&] { key->lead_nowhere(); },
                 [&] { static_cast<void>(key->remote()); }, [&] { MovableKey{domain}; }}) {
            try {
                call();
                ++wrong;
            } catch (const Error& error) {
                wrong += error.error_number() == ENOTSUP ? 0 : 1;
            }
        }
        key.reset();
        ::_exit(wrong);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_TRUE(key->remote());
}

} // namespace
} // namespace mrz::test
