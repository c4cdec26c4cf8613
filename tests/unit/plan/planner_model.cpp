// SPDX-License-Identifier: BSD-3-Clause
// The planner against a model that is slow and plainly right: it tries every page size on every piece of memory.
#include <mrzone/plan.hpp>

#include "random_layout.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <utility>

using namespace mrz;
using namespace mrz::test;

namespace {

// 1 KiB of memory. No page size cuts it, as all are multiples of 4 KiB and all memory here begins at 1 KiB.
struct Grain {
    std::uint64_t offset;
    std::uint64_t dma;
    std::uint64_t run; // the DMA segment it is in
};

std::vector<Grain> grains(const Layout& layout, std::optional<std::size_t> max_segment)
{
    std::vector<Grain> all;
    std::uint64_t run = 0;
    for (const Extent& extent : layout.extents()) {
        ++run;
        const std::uint64_t dma = extent.dma.value();
        std::uint64_t segment_start = dma / small_page * small_page;
        for (std::uint64_t done = 0; done < extent.length; done += kib) {
            if (max_segment && dma + done - segment_start == *max_segment) {
                ++run;
                segment_start = dma + done;
            }
            all.push_back({.offset = extent.offset + done, .dma = dma + done, .run = run});
        }
    }
    return all;
}

// Whether one entry a page can map all grains when the first lies at `base`: everything in a page of the key's space
// must come from one segment and be equally far from its DMA address, which must lie alike in a page of DMA space.
bool maps(const std::vector<Grain>& memory, std::uint64_t base, std::uint64_t page)
{
    std::map<std::uint64_t, std::pair<std::uint64_t, std::uint64_t>> first_in_page;
    for (const Grain& grain : memory) {
        const std::uint64_t address = base + grain.offset;
        if (grain.dma % page != address % page)
            return false;
        const std::pair here{grain.dma - address, grain.run};
        if (first_in_page.emplace(address / page, here).first->second != here)
            return false;
    }
    return true;
}

std::uint64_t entries(const std::vector<Grain>& memory, std::uint64_t iova, std::uint64_t page)
{
    std::set<std::uint64_t> touched;
    for (const Grain& grain : memory)
        touched.insert((iova + grain.offset) / page);
    return touched.size();
}

bool possible(const std::vector<Grain>& memory, const Layout& layout, std::uint64_t iova, std::uint64_t page,
              PageSizeRule rule)
{
    if (rule == PageSizeRule::memory_region)
        return maps(memory, iova, page);
    const std::uint64_t base = layout.extents().front().dma.value();
    if (!maps(memory, base, page))
        return false;
    if (page == small_page)
        return base % page == iova % page;
    return base % page == 0 && layout.length() % page == 0 && iova % page == 0;
}

struct Answer {
    unsigned shift;
    std::uint64_t entries;
};

std::optional<Answer> model(const Layout& layout, Iova iova, const Limits& limits)
{
    const std::vector<Grain> memory = grains(layout, limits.max_segment);
    std::optional<Answer> best;
    std::uint64_t fewest = ~std::uint64_t{0};
    for (unsigned shift = limits.min_page_shift.value(); shift <= limits.max_page_shift.value(); ++shift) {
        const std::uint64_t page = std::uint64_t{1} << shift;
        if (!possible(memory, layout, iova.value(), page, limits.rule))
            continue;
        const std::uint64_t needed = entries(memory, iova.value(), page);
        // The kernel takes no larger page than one that covers everything already.
        if (limits.rule == PageSizeRule::umem || fewest > 1)
            best = Answer{.shift = shift, .entries = needed};
        fewest = std::min(fewest, needed);
    }
    if (best) {
        EXPECT_EQ(best->entries, fewest);
    }
    return best;
}

std::string describe(const Layout& layout, std::optional<Iova> iova, const Limits& limits)
{
    std::ostringstream text;
    text << std::hex << "iova " << (iova ? iova->value() : 0) << (iova ? "" : " (none)") << std::dec << ", shifts "
         << limits.min_page_shift.value() << " to " << limits.max_page_shift.value() << ", segment "
         << limits.max_segment.value_or(0) << (limits.rule == PageSizeRule::umem ? ", umem:" : ":") << std::hex;
    for (const Extent& extent : layout.extents())
        text << ' ' << extent.dma.value() << '+' << extent.length;
    return text.str();
}

Limits random_limits(Dice& dice, PageSizeRule rule)
{
    Limits limits{.max_page_shift = PageShift{static_cast<unsigned>(dice.roll(12, 19))}, .rule = rule};
    if (dice.one_in(5))
        limits.min_page_shift = PageShift{static_cast<unsigned>(dice.roll(12, limits.max_page_shift.value()))};
    if (dice.one_in(3))
        limits.max_segment = dice.roll(1, 6) * small_page;
    return limits;
}

void compare(const Layout& layout, Iova iova, const Limits& limits)
{
    SCOPED_TRACE(describe(layout, iova, limits));
    const std::optional<Answer> expected = model(layout, iova, limits);
    if (!expected) {
        EXPECT_THROW(make_plan(layout, iova, limits), Error);
        return;
    }
    const Plan plan = make_plan(layout, iova, limits);
    ASSERT_EQ(plan.keys.size(), 1U);
    EXPECT_EQ(plan.keys[0].page_shift.value(), expected->shift);
    EXPECT_EQ(plan.mtt_entries(), expected->entries);
    EXPECT_EQ(plan.limit.bit, expected->shift);
}

void compare_many(std::uint32_t seed, PageSizeRule rule)
{
    Dice dice{seed};
    for (int i = 0; i < 8000 && !testing::Test::HasFailure(); ++i) {
        const Layout layout = random_layout(dice, Ends::within_pages);
        const Iova iova = random_iova(dice, layout);
        compare(layout, iova, random_limits(dice, rule));
    }
}

void compare_free_iova(std::uint32_t seed, PageSizeRule rule)
{
    Dice dice{seed};
    for (int i = 0; i < 1500 && !testing::Test::HasFailure(); ++i) {
        const Layout layout = random_layout(dice, Ends::within_pages);
        Limits limits = random_limits(dice, rule);
        limits.max_page_shift = std::min(limits.max_page_shift, PageShift{16});
        limits.min_page_shift = std::min(limits.min_page_shift, limits.max_page_shift);
        SCOPED_TRACE(describe(layout, std::nullopt, limits));
        // What is congruent within the largest page decides, so these are all the addresses that there are.
        const std::uint64_t inside = layout.extents().front().dma.value() % small_page;
        std::optional<std::uint64_t> fewest;
        for (std::uint64_t iova = inside; iova < limits.max_page_shift.bytes(); iova += small_page)
            if (const auto answer = model(layout, Iova{iova}, limits))
                fewest = std::min(fewest.value_or(answer->entries), answer->entries);
        if (fewest)
            EXPECT_EQ(make_plan(layout, std::nullopt, limits).mtt_entries(), *fewest);
        else
            EXPECT_THROW(make_plan(layout, std::nullopt, limits), Error);
    }
}

} // namespace

TEST(PlannerModel, MemoryRegionTakesThePageSizeOfTheModel)
{
    compare_many(1, PageSizeRule::memory_region);
}

TEST(PlannerModel, UmemTakesThePageSizeOfTheModel)
{
    compare_many(2, PageSizeRule::umem);
}

TEST(PlannerModel, NoIovaIsBetterThanTheOneChosenForAMemoryRegion)
{
    compare_free_iova(3, PageSizeRule::memory_region);
}

TEST(PlannerModel, NoIovaIsBetterThanTheOneChosenForAUmem)
{
    compare_free_iova(4, PageSizeRule::umem);
}

TEST(PlannerModel, RunsThatBreakWithinAPageHaveNoPlan)
{
    Dice dice{5};
    for (int i = 0; i < 500; ++i) {
        Layout layout;
        layout.append(DmaAddress{dice.roll(0, 9) * small_page}, dice.roll(1, 20) * kib);
        layout.append(DmaAddress{dice.roll(10, 19) * small_page + dice.roll(0, 3) * kib}, dice.roll(1, 20) * kib);
        compare(layout, random_iova(dice, layout), {});
    }
}
