// SPDX-License-Identifier: BSD-3-Clause
// Placement against every ordered choice of pages at every address, in pools small enough for that.
#include <mrzone/plan.hpp>

#include "random_layout.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <vector>

using namespace mrz;
using namespace mrz::test;

namespace {

constexpr PageShift page{12};

// Counts the entries of all ordered choices at all addresses that differ below the largest entry.
class Exhaustive {
  public:
    Exhaustive(const std::vector<DmaAddress>& frames, std::size_t count, const Limits& limits)
        : frames_{frames}, limits_{limits}, used_(frames.size())
    {
        choose(count);
    }
    [[nodiscard]] std::uint64_t fewest() const { return fewest_; }

  private:
    void choose(std::size_t more)
    {
        if (more == 0) {
            evaluate();
            return;
        }
        for (std::size_t i = 0; i < frames_.size(); ++i) {
            if (used_[i])
                continue;
            used_[i] = true;
            order_.push_back(frames_[i]);
            choose(more - 1);
            order_.pop_back();
            used_[i] = false;
        }
    }
    void evaluate()
    {
        const Layout layout = Layout::of_pages(order_, page);
        for (std::uint64_t address = 0; address < limits_.max_page_shift.bytes(); address += page.bytes())
            fewest_ = std::min(fewest_, make_plan(layout, Iova{address}, limits_).mtt_entries());
    }

    const std::vector<DmaAddress>& frames_;
    Limits limits_;
    std::vector<bool> used_;
    std::vector<DmaAddress> order_;
    std::uint64_t fewest_ = ~std::uint64_t{0};
};

std::vector<DmaAddress> random_pool(Dice& dice, std::size_t size)
{
    std::vector<bool> there(24);
    std::size_t have = 0;
    while (have < size) {
        std::uint64_t at = dice.roll(0, 23);
        for (std::uint64_t run = dice.roll(1, 6); run > 0 && at < 24 && have < size; --run, ++at)
            if (!there[at]) {
                there[at] = true;
                ++have;
            }
    }
    std::vector<DmaAddress> frames;
    for (std::uint64_t number = 0; number < 24; ++number)
        if (there[number])
            frames.insert(frames.begin() + static_cast<std::ptrdiff_t>(dice.roll(0, frames.size())),
                          DmaAddress{number * page.bytes()});
    return frames;
}

std::string describe(const std::vector<DmaAddress>& frames, std::size_t count, const Limits& limits)
{
    std::ostringstream text;
    text << count << " of";
    for (const DmaAddress frame : frames)
        text << ' ' << frame.value() / page.bytes();
    text << ", largest entry 2^" << limits.max_page_shift.value() << ", segment " << limits.max_segment.value_or(0);
    return text.str();
}

Layout chosen(const std::vector<DmaAddress>& frames, const Placement& placement)
{
    std::vector<DmaAddress> order;
    for (const std::size_t index : placement.order)
        order.push_back(frames.at(index));
    return Layout::of_pages(order, page);
}

// The plan says `entries` at every address that the placement allows.
void expect_promise_kept(const std::vector<DmaAddress>& frames, const Placement& placement, const Limits& limits)
{
    const Layout layout = chosen(frames, placement);
    EXPECT_EQ(placement.residue % page.bytes(), 0U);
    for (std::uint64_t step = 0; step < 40; ++step) {
        const Iova address{placement.residue + step * placement.modulus.bytes()};
        EXPECT_EQ(make_plan(layout, address, limits).mtt_entries(), placement.entries) << "at " << address.value();
        EXPECT_LE(make_plan(layout, address, {}).keys[0].page_shift, limits.max_page_shift);
    }
}

void compare(Dice& dice, std::size_t pool, std::size_t count, const Limits& limits)
{
    const std::vector<DmaAddress> frames = random_pool(dice, pool);
    SCOPED_TRACE(describe(frames, count, limits));
    const Placement placement = place(frames, page, count, limits);
    EXPECT_EQ(placement.order.size(), count);
    EXPECT_EQ(placement.entries, Exhaustive(frames, count, limits).fewest());
    expect_promise_kept(frames, placement, limits);
}

void compare_many(std::uint32_t seed, PageSizeRule rule)
{
    Dice dice{seed};
    for (int i = 0; i < 600 && !testing::Test::HasFailure(); ++i)
        compare(dice, dice.roll(3, 9), dice.roll(1, 3),
                {.max_page_shift = PageShift{static_cast<unsigned>(dice.roll(12, 16))}, .rule = rule});
    // More pages than fit an entry, so that whole ones lie between a tail and a head.
    for (int i = 0; i < 250 && !testing::Test::HasFailure(); ++i)
        compare(dice, dice.roll(6, 8), dice.roll(4, 5),
                {.max_page_shift = PageShift{static_cast<unsigned>(dice.roll(13, 14))}, .rule = rule});
    for (int i = 0; i < 30 && !testing::Test::HasFailure(); ++i)
        compare(dice, 7, 7, {.max_page_shift = PageShift{14}, .rule = rule});
}

} // namespace

TEST(PlacementModel, NoOtherChoiceNeedsFewerEntries)
{
    compare_many(21, PageSizeRule::memory_region);
}

TEST(PlacementModel, NoOtherChoiceNeedsFewerEntriesForAUmem)
{
    compare_many(22, PageSizeRule::umem);
}

TEST(PlacementModel, WhatIsPromisedHoldsWhereRunsAreSplit)
{
    Dice dice{23};
    for (int i = 0; i < 3000 && !HasFailure(); ++i) {
        const std::vector<DmaAddress> frames = random_pool(dice, dice.roll(4, 20));
        const std::size_t count = dice.roll(1, frames.size());
        const Limits limits{.max_page_shift = PageShift{static_cast<unsigned>(dice.roll(12, 17))},
                            .max_segment = dice.roll(1, 8) * page.bytes()};
        SCOPED_TRACE(describe(frames, count, limits));
        expect_promise_kept(frames, place(frames, page, count, limits), limits);
    }
}

TEST(PlacementModel, WhatIsPromisedHoldsInLargerPools)
{
    Dice dice{24};
    for (int i = 0; i < 3000 && !HasFailure(); ++i) {
        const std::vector<DmaAddress> frames = random_pool(dice, dice.roll(10, 24));
        const std::size_t count = dice.roll(1, frames.size());
        const Limits limits{.max_page_shift = PageShift{static_cast<unsigned>(dice.roll(12, 20))}};
        SCOPED_TRACE(describe(frames, count, limits));
        expect_promise_kept(frames, place(frames, page, count, limits), limits);
    }
}
