// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Look-up and memory that goes away.
#include "look_up.hpp"

#include "lookup_in_c.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <cstdint>
#include <random>
#include <thread>
#include <vector>

namespace mrz::test {
namespace {

constexpr std::uint64_t slot = std::uint64_t{1} << MRZ_LOOKUP_SLOT_SHIFT_;

class ForeignMemory : public testing::Test {
  protected:
    //! 0: nothing.
    [[nodiscard]] std::uint32_t key(std::uint64_t address, std::uint64_t length, bool to_read = false) const
    {
        const mrz_reader reader{look_up.view()};
        return look_up_in_c(&reader, to_read, reinterpret_cast<const void*>(address), length).key.value;
    }
    LookUp::Listing list(std::uint64_t start, std::uint64_t length, std::uint32_t value,
                         Access access = Access::local_write, bool lasting = false)
    {
        auto listing = look_up.announce(start, length, lasting);
        look_up.list(listing, LKey{value}, access);
        return listing;
    }
    //! As who is told does.
    bool hide(std::uint64_t start, std::uint64_t end)
    {
        look_up.shut();
        const bool any = look_up.hide(start, end);
        look_up.open();
        return any;
    }

    LookUp look_up;
};

TEST_F(ForeignMemory, ThatWentIsNotFoundNorAnyThatItTouchesAndAllElseIs)
{
    const auto before = list(0x1000, 0x1000, 1);
    const auto first = list(0x2000, 0x1000, 2);
    const auto second = list(0x3000, 0x3000, 3);
    const auto after = list(0x6000, 0x1000, 4);
    EXPECT_FALSE(hide(0x7000, 0x9000));
    EXPECT_TRUE(hide(0x2fff, 0x3001));
    EXPECT_EQ(key(0x1000, 0x1000), 1u);
    EXPECT_EQ(key(0x2000, 1), 0u);
    EXPECT_EQ(key(0x3000, 1), 0u);
    EXPECT_EQ(key(0x5000, 1, true), 0u);
    EXPECT_EQ(key(0x6000, 0x1000), 4u);
    EXPECT_EQ(look_up.snapshot().regions, 2u);
    EXPECT_EQ(look_up.snapshot().hidden, 2u);
    EXPECT_FALSE(hide(0x2fff, 0x3001)) << "again";
}

TEST_F(ForeignMemory, ThatWentIsNotFoundHoweverTablesChangeAfterwards)
{
    std::optional<LookUp::Listing> gone = list(0x1000, 0x1000, 1);
    hide(0x1000, 0x2000);
    const auto other = list(0x8000, 0x1000, 2);
    EXPECT_EQ(key(0x1000, 1), 0u);
    EXPECT_EQ(key(0x8000, 1), 2u);
    const auto anew = list(0x1000, 0x1000, 3);
    EXPECT_EQ(key(0x1000, 1), 3u);
    gone.reset();
    EXPECT_EQ(key(0x1000, 1), 3u);
    EXPECT_EQ(look_up.snapshot().hidden, 0u);
    EXPECT_EQ(look_up.snapshot().regions, 2u);
}

TEST_F(ForeignMemory, ThatGoesBeforeItsRegionIsThereIsNeverFound)
{
    auto listing = look_up.announce(0x1000, 0x1000, false);
    hide(0x1800, 0x1900);
    look_up.list(listing, LKey{1}, Access::local_write);
    EXPECT_EQ(key(0x1000, 0x100), 0u);
    EXPECT_EQ(look_up.snapshot().regions, 0u);
    const auto other = list(0x2000, 0x1000, 2);
    EXPECT_EQ(key(0x1000, 0x100), 0u);
}

TEST_F(ForeignMemory, ThatWentKeepsNothingElseFromBeingFoundOnceThatIsTidy)
{
    const auto around = list(0x1000, 0x8000, 1);
    const auto within = list(0x2000, 0x1000, 2);
    const auto readable = list(0x4000, 0x1000, 3, Access::local_read);
    EXPECT_EQ(key(0x2000, 1), 1u);
    hide(0x8000, 0x9000);
    look_up.tidy();
    EXPECT_EQ(key(0x2000, 0x1000), 2u);
    EXPECT_EQ(key(0x4000, 0x1000, true), 3u);
    EXPECT_EQ(key(0x4000, 1), 0u);
    EXPECT_EQ(key(0x8000, 1, true), 0u);
}

TEST_F(ForeignMemory, OfRegionsForReadingLeavesNoGapsInWhatIsWritten)
{
    const auto around = list(0x1000, 0x8000, 1);
    const auto within = list(0x2000, 0x1000, 2);
    hide(0x8000, 0x9000);
    const auto readable = list(0xa000, 0x1000, 3, Access::local_read); // a change that is not about writing
    EXPECT_EQ(key(0x2000, 0x1000), 2u);
}

TEST_F(ForeignMemory, IsNotWhatLasts)
{
    const auto searched = list(0x1000, 0x1000, 1, Access::local_write, true);
    const auto in_slots = list(slot, slot, 2, Access::local_write, true);
    EXPECT_FALSE(hide(0, UINT64_MAX));
    EXPECT_EQ(key(0x1000, 1), 1u);
    EXPECT_EQ(key(slot, 1), 2u);
}

TEST_F(ForeignMemory, IsListedAsLongAsThereIsOneWhoCares)
{
    const auto listed = [&] {
        std::vector<std::span<const std::byte>> memory;
        look_up.list_memory(memory);
        return memory.size();
    };
    {
        const auto lasting = list(0x8000, 0x1000, 1, Access::local_write, true);
        const auto announced = look_up.announce(0x1000, 0x1000, false);
        const auto found = list(0x4000, 0x1000, 2);
        EXPECT_EQ(listed(), 2u);
        hide(0x4000, 0x5000);
        EXPECT_EQ(listed(), 1u) << "of what went";
    }
    EXPECT_EQ(listed(), 0u);
}

// With regions that overlap in all ways.
TEST_F(ForeignMemory, IsFoundExactlyWhereARegionWhoseMemoryNeverWentCoversAll)
{
    struct One {
        std::uint64_t start, end;
        bool writable, lasting, gone, there;
        LookUp::Listing listing;
    };
    for (std::uint32_t seed = 0; seed < 20; ++seed) {
        std::mt19937_64 random{seed};
        std::vector<One> regions;
        std::uint32_t last_key = 0;
        std::vector<std::size_t> place_of_key(1);
        bool tidy = true;
        for (int change = 0; change < 300; ++change) {
            switch (random() % 4) {
            case 0:
            case 1: {
                const std::uint64_t start = 1 + random() % 200;
                const std::uint64_t end = start + 1 + random() % (random() % 8 == 0 ? 100 : 12);
                const bool writable = random() % 4 != 0;
                const bool lasting = random() % 6 == 0;
                regions.push_back({start, end, writable, lasting, false, true,
                                   list(start, end - start, ++last_key,
                                        writable ? Access::local_write : Access::local_read, lasting)});
                place_of_key.push_back(regions.size() - 1);
                tidy = true;
                break;
            }
            case 2:
                if (!regions.empty()) {
                    One& some = regions[random() % regions.size()];
                    tidy = tidy || some.there;
                    some.listing = {};
                    some.there = false;
                }
                break;
            default: {
                const std::uint64_t start = 1 + random() % 200;
                const std::uint64_t end = start + 1 + random() % 6;
                tidy = !hide(start, end) && tidy;
                for (One& one : regions)
                    one.gone = one.gone || (!one.lasting && one.start < end && start < one.end);
                if (random() % 2 == 0) {
                    look_up.tidy();
                    tidy = true;
                }
            }
            }
            for (int i = 0; i < 100; ++i) {
                const std::uint64_t address = 1 + random() % 210;
                const std::uint64_t length = 1 + random() % 10;
                const bool to_read = random() % 2 == 0;
                const auto covers = [&](const One& one) {
                    return one.there && !one.gone && (to_read || one.writable) && one.start <= address &&
                           address + length <= one.end;
                };
                const std::uint32_t found = key(address, length, to_read);
                const bool right = found != 0 ? covers(regions[place_of_key[found]])
                                              : !tidy || !std::ranges::any_of(regions, covers);
                ASSERT_TRUE(right) << "seed " << seed << ", change " << change;
            }
        }
    }
}

// One thread lists and removes, one is told that memory goes, and two look up. Meant for ThreadSanitizer, too.
TEST_F(ForeignMemory, IsNotFoundByWhoeverBeginsAfterItWent)
{
    static constexpr std::uint32_t count = 12;
    struct Place {
        std::atomic<std::uint32_t> announced = 0; // how often, counted after
        std::atomic<std::uint32_t> went = 0;      // those up to this one went, counted after
        LookUp::Listing listing = {};             // the writer's
        [[nodiscard]] static std::uint64_t start(std::uint32_t place) { return 0x10000 + place * 0x1000; }
    };
    std::array<Place, count> places;
    std::atomic<bool> stop = false;
    std::atomic<unsigned> found = 0;
    std::barrier begin{4};
    std::thread writer{[&] {
        std::mt19937_64 random{1};
        begin.arrive_and_wait();
        while (!stop) {
            const auto place = static_cast<std::uint32_t>(random() % count);
            Place& one = places[place];
            one.listing = {};
            if (random() % 8 == 0)
                look_up.tidy();
            one.listing = look_up.announce(Place::start(place), 0x3000, false);
            const std::uint32_t times = ++one.announced;
            look_up.list(one.listing, LKey{place << 24 | (times & 0xffffff)}, Access::local_write);
        }
    }};
    const auto read = [&](unsigned seed) {
        std::mt19937_64 random{seed};
        const unsigned number = look_up.enter();
        const mrz_reader reader{look_up.view()};
        begin.arrive_and_wait();
        while (!stop) {
            const auto place = static_cast<std::uint32_t>(random() % count);
            std::array<std::uint32_t, count> went{};
            for (std::uint32_t i = 0; i < count; ++i)
                went[i] = places[i].went;
            mrz_lkey got{};
            if (mrz_lookup(&reader, reinterpret_cast<const void*>(Place::start(place)), 0x1000, &got) != 0) {
                const std::uint32_t times = got.value & 0xffffff;
                if (times <= went[got.value >> 24]) {
                    ADD_FAILURE() << "place " << (got.value >> 24) << " went " << times << " times before";
                    stop = true;
                }
                ++found;
            }
            look_up.quiescence().quiescent(number);
        }
        look_up.leave(number);
    };
    std::thread first{read, 2};
    std::thread second{read, 3};
    std::mt19937_64 random{4};
    begin.arrive_and_wait();
    for (unsigned hidden = 0; (hidden < 1000 || found < 1000) && !stop;) {
        const auto place = static_cast<std::uint32_t>(random() % count);
        const std::uint32_t announced = places[place].announced; // later ones may go or stay
        if (announced == places[place].went) {                   // none to hide
            std::this_thread::yield();
            continue;
        }
        hidden += hide(Place::start(place), Place::start(place) + 1) ? 1 : 0;
        places[place].went = announced;
    }
    stop = true;
    writer.join();
    first.join();
    second.join();
}

} // namespace
} // namespace mrz::test
