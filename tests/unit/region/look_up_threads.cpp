// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Two threads look up while a third lists and removes. Meant to be run under ThreadSanitizer too.
#include "look_up.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <barrier>
#include <cstdint>
#include <random>
#include <thread>
#include <vector>

namespace mrz::test {
namespace {

//! A region that comes and goes. Its key is its place and how often it came. Counters ascend; "begun" is counted
//! before the call and "done" after it.
struct Coming {
    std::uint64_t start = 0;
    std::uint64_t length = 0;
    std::atomic<std::uint32_t> listing_begun = 0;
    std::atomic<std::uint32_t> listing_done = 0;
    std::atomic<std::uint32_t> removing_begun = 0;
    std::atomic<std::uint32_t> removing_done = 0;
    LookUp::Listing listing = {}; // the writer's
};

class LookUpThreads : public testing::Test {
  protected:
    static constexpr std::uint32_t count = 24;
    static constexpr std::uint32_t searched = 18; // of them
    static constexpr std::uint64_t slot = std::uint64_t{1} << MRZ_LOOKUP_SLOT_SHIFT_;
    static constexpr unsigned looks = 60'000; // of each thread, at least
    static constexpr unsigned least_changes = 2'000;

    LookUpThreads()
    {
        // Many overlap, some lie within another, and of the last few those are in slots that come first.
        for (std::uint32_t i = 0; i < count; ++i) {
            Coming& one = coming[i];
            one.start = i < searched ? 0x10000 + i * 0x1000 : i * slot;
            one.length = i < searched ? (i % 3 == 0 ? 0x4000 : 0x1800) : slot * (1 + i % 2);
        }
    }

    static std::uint32_t key(std::uint32_t place, std::uint32_t times) { return place << 24 | times; }

    void toggle(std::uint32_t place)
    {
        Coming& one = coming[place];
        if (const std::uint32_t times = one.listing_begun; times == one.removing_done) {
            one.listing_begun = times + 1;
            one.listing = look_up.announce(one.start, one.length, true);
            look_up.list(one.listing, LKey{key(place, times + 1)}, Access::local_write);
            one.listing_done = times + 1;
        } else {
            one.removing_begun = times;
            one.listing = {};
            one.removing_done = times;
        }
    }

    //! One look-up, which must be right for some moment between its begin and its end.
    void look(const mrz_reader& reader, std::mt19937_64& random)
    {
        const auto place = static_cast<std::uint32_t>(random() % count);
        const Coming& one = coming[place];
        const std::uint64_t offset = random() % one.length;
        const std::uint64_t length = 1 + random() % (one.length - offset);
        std::array<std::uint32_t, count> removed_before;
        for (std::uint32_t i = 0; i < count; ++i)
            removed_before[i] = coming[i].removing_done;
        const std::uint32_t there_before = one.listing_done;
        const unsigned opened_before = opened;

        mrz_lkey found{};
        const std::uint64_t reach =
            mrz_lookup_reach(&reader, reinterpret_cast<const void*>(one.start + offset), length, &found);

        const bool was_there =
            there_before > removed_before[place] && one.removing_begun < there_before && shut == opened_before;
        if (reach == 0) {
            ASSERT_FALSE(was_there) << "region " << place << " was there all the time";
            return;
        }
        const std::uint32_t by = found.value >> 24;
        const std::uint32_t times = found.value & 0xffffff;
        ASSERT_LT(by, count);
        ASSERT_GT(times, removed_before[by]) << "the key was gone before";
        ASSERT_LE(times, coming[by].listing_begun) << "the key was not there yet";
        ASSERT_LE(coming[by].start, one.start + offset);
        ASSERT_EQ(coming[by].start + coming[by].length - (one.start + offset), reach);
        ASSERT_GE(reach, length);
    }

    LookUp look_up;
    std::array<Coming, count> coming;
    std::atomic<unsigned> shut = 0;   // counted before it is done
    std::atomic<unsigned> opened = 0; // and after
};

TEST_F(LookUpThreads, EveryKeyFoundCoveredTheRangeAtSomeMomentOfTheLookUp)
{
    std::barrier begin{3};
    std::atomic<unsigned> reading = 2;
    std::atomic<unsigned> changes = 0;
    const auto read = [&](unsigned seed) {
        std::mt19937_64 random{seed};
        const unsigned number = look_up.enter();
        const mrz_reader reader{look_up.view()};
        begin.arrive_and_wait();
        for (unsigned i = 0; (i < looks || changes < least_changes) && !HasFatalFailure(); ++i) {
            look(reader, random);
            if (i % 32 == 31)
                look_up.quiescence().quiescent(number);
            if (i % 4096 == 4095) {
                look_up.quiescence().offline(number);
                look_up.quiescence().online(number);
            }
        }
        look_up.leave(number);
        --reading;
    };
    std::thread first{read, 1};
    std::thread second{read, 2};
    std::mt19937_64 random{3};
    std::size_t most_waiting = 0;
    begin.arrive_and_wait();
    while (reading > 0) {
        ++changes;
        toggle(static_cast<std::uint32_t>(random() % count));
        most_waiting = std::max(most_waiting, look_up.snapshot().tables_waiting);
        if (changes % 64 == 0) {
            ++shut;
            look_up.shut();
            look_up.open();
            ++opened;
        }
    }
    first.join();
    second.join();
    for (Coming& one : coming)
        one.listing = {};
    EXPECT_GT(most_waiting, 0u) << "no reader ever kept a table from being freed";
    EXPECT_EQ(look_up.snapshot().tables_waiting, 0u);
    EXPECT_EQ(look_up.snapshot().regions, 0u);
}

} // namespace
} // namespace mrz::test
