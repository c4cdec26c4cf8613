// SPDX-License-Identifier: BSD-3-Clause
// The optimal planner against exhaustion, on random and on all small layouts.
#include "optimal_model.hpp"

#include "random_layout.hpp"

#include <gtest/gtest.h>

#include <sstream>
#include <string>

using namespace mrz;
using namespace mrz::test;

namespace {

std::string describe(const Layout& layout, const PlanOptions& options, const Limits& limits)
{
    std::ostringstream text;
    text << std::hex << "iova " << (options.iova ? options.iova->value() : 0) << (options.iova ? "" : " (none)")
         << std::dec << (options.single_key ? ", single key" : "") << ", weights " << options.weights.mtt << ' '
         << options.weights.mkey << ' ' << options.weights.indirect << ", shifts " << limits.min_page_shift.value()
         << " to " << limits.max_page_shift.value() << ", segment " << limits.max_segment.value_or(0) << ", entries "
         << limits.max_mtt_entries.value_or(0) << (limits.rule == PageSizeRule::umem ? ", umem" : "");
    if (options.indirect && limits.indirect.klm)
        text << ", klm " << limits.indirect.max_klm_bytes;
    if (options.indirect && limits.indirect.ksm)
        text << ", ksm " << limits.indirect.min_ksm_shift.value() << " to " << limits.indirect.max_ksm_shift.value();
    text << ", indirect entries " << limits.indirect.max_entries.value_or(0) << ':' << std::hex;
    for (const Extent& extent : layout.extents())
        text << ' ' << extent.dma.value() << '+' << extent.length;
    return text.str();
}

Layout part_of(const Layout& layout, std::size_t offset, std::size_t length)
{
    Layout part;
    for (const Extent& extent : layout.extents()) {
        const std::size_t begin = std::max(extent.offset, offset);
        const std::size_t end = std::min(extent.offset + extent.length, offset + length);
        if (begin < end)
            part.append(extent.dma + (begin - extent.offset), end - begin);
    }
    return part;
}

void check_keys(const Plan& plan, const Layout& layout, const PlanOptions& options, const Limits& limits)
{
    std::size_t covered = 0;
    std::uint64_t most = 0;
    LimitedBy limit;
    for (const PlannedKey& key : plan.keys) {
        ASSERT_EQ(key.offset, covered);
        covered += key.length;
        const Plan alone = make_plan(part_of(layout, key.offset, key.length), key.iova, limits);
        EXPECT_EQ(alone.mtt_entries(), key.entries);
        EXPECT_EQ(alone.keys[0].page_shift, key.page_shift);
        if (key.entries > most) {
            most = key.entries;
            limit = key.limit;
        }
        EXPECT_EQ(alone.limit.bit, key.limit.bit);
        EXPECT_EQ(alone.limit.at, key.limit.at);
        if (options.iova && !plan.indirect) {
            EXPECT_EQ(key.iova, *options.iova + key.offset);
        }
    }
    EXPECT_EQ(covered, layout.length());
    EXPECT_EQ(plan.limit.at, limit.at);
    EXPECT_EQ(plan.limit.bit, limit.bit);
    EXPECT_EQ(plan.umems.size(), limits.rule == PageSizeRule::umem ? plan.keys.size() : 0);
}

void check_indirect(const Plan& plan, const Layout& layout, const PlanOptions& options, const Limits& limits)
{
    std::size_t covered = 0;
    for (const IndirectEntry& entry : plan.indirect->entries) {
        ASSERT_EQ(entry.offset, covered);
        ASSERT_LT(entry.key, plan.keys.size());
        const PlannedKey& key = plan.keys[entry.key];
        EXPECT_GE(entry.offset, key.offset);
        EXPECT_LE(entry.offset + entry.length, key.offset + key.length);
        covered += entry.length;
        if (plan.indirect->kind == IndirectKind::klm) {
            EXPECT_LE(entry.length, limits.indirect.max_klm_bytes);
            continue;
        }
        const std::uint64_t size = plan.indirect->entry_shift.value().bytes();
        const std::uint64_t at = (plan.indirect->iova + entry.offset).value();
        EXPECT_EQ(at / size, (at + entry.length - 1) / size);
        EXPECT_TRUE(entry.offset == 0 || at % size == 0);
        EXPECT_TRUE(covered == layout.length() || (at + entry.length) % size == 0);
    }
    EXPECT_EQ(covered, layout.length());
    if (options.iova) {
        EXPECT_EQ(plan.indirect->iova, *options.iova);
    }
}

void compare(const Layout& layout, const PlanOptions& options, const Limits& limits)
{
    const std::vector<std::uint64_t> costs = OptimalModel{layout, options, limits}.costs();
    const auto best = std::min_element(costs.begin(), costs.end());
    if (*best == OptimalModel::impossible) {
        EXPECT_THROW(make_optimal_plan(layout, options, limits), Error) << describe(layout, options, limits);
        return;
    }
    const Plan plan = make_optimal_plan(layout, options, limits);
    SCOPED_TRACE(testing::Message() << describe(layout, options, limits) << "; " << plan.explain());
    EXPECT_EQ(plan.cost(), *best);
    OptimalModel::Way way = plan.keys.size() == 1 ? OptimalModel::one_key : OptimalModel::side_by_side;
    if (plan.indirect)
        way = plan.indirect->kind == IndirectKind::ksm ? OptimalModel::ksm : OptimalModel::klm;
    EXPECT_EQ(way, best - costs.begin());
    EXPECT_TRUE(plan.proven);
    EXPECT_EQ(plan.bytes, layout.length());
    check_keys(plan, layout, options, limits);
    if (plan.indirect)
        check_indirect(plan, layout, options, limits);
}

// Up to nine pages; frames that go on, that agree in low bits, or neither.
Layout small_layout(Dice& dice)
{
    Layout layout;
    const std::uint64_t pages = dice.roll(1, dice.one_in(4) ? 9 : 7);
    std::uint64_t frame = dice.roll(0, 17);
    for (std::uint64_t i = 0; i < pages; ++i) {
        if (i != 0 && dice.one_in(2))
            frame = dice.one_in(2) ? frame + 1 + (dice.roll(0, 3) << dice.roll(0, 3)) : dice.roll(0, 20);
        else if (i != 0)
            ++frame;
        std::uint64_t dma = frame * small_page;
        std::uint64_t length = small_page;
        if (i == 0 && dice.one_in(8)) {
            dma += kib;
            length -= kib;
        }
        if (i + 1 == pages && dice.one_in(8))
            length -= 2 * kib;
        layout.append(DmaAddress{dma}, length);
    }
    return layout;
}

Weights random_weights(Dice& dice)
{
    const auto weight = [&dice] { return dice.one_in(3) ? 1 : dice.roll(0, dice.one_in(3) ? 9 : 3); };
    return {.mtt = weight(), .mkey = weight(), .indirect = weight()};
}

PlanOptions random_options(Dice& dice, const Layout& layout)
{
    PlanOptions options{.single_key = dice.one_in(2), .indirect = !dice.one_in(5), .weights = random_weights(dice)};
    if (dice.one_in(2)) {
        options.iova = Iova{layout.extents().front().dma.value() % small_page + dice.roll(0, 64) * small_page};
        if (dice.one_in(20))
            options.iova = Iova{dice.roll(0, 1000) * kib};
    }
    return options;
}

Limits random_limits(Dice& dice, PageSizeRule rule)
{
    Limits limits{.max_page_shift = PageShift{static_cast<unsigned>(dice.roll(12, 16))}, .rule = rule};
    if (dice.one_in(10))
        limits.min_page_shift = PageShift{static_cast<unsigned>(dice.roll(12, limits.max_page_shift.value()))};
    limits.indirect = {.klm = !dice.one_in(4), .ksm = !dice.one_in(3)};
    limits.indirect.max_ksm_shift = PageShift{static_cast<unsigned>(dice.roll(12, 16))};
    if (dice.one_in(5))
        limits.indirect.min_ksm_shift =
            PageShift{static_cast<unsigned>(dice.roll(12, limits.indirect.max_ksm_shift.value()))};
    return limits;
}

// Some limits that bind.
Limits tight_limits(Dice& dice, PageSizeRule rule)
{
    Limits limits = random_limits(dice, rule);
    if (dice.one_in(2))
        limits.max_segment = dice.roll(1, 5) * small_page;
    if (dice.one_in(2))
        limits.max_mtt_entries = dice.roll(1, 4);
    if (dice.one_in(2))
        limits.indirect.max_klm_bytes = dice.roll(1, 4) * small_page;
    if (dice.one_in(2))
        limits.indirect.max_entries = dice.roll(1, 5);
    return limits;
}

void compare_many(std::uint32_t seed, PageSizeRule rule, Limits limits_for(Dice&, PageSizeRule))
{
    Dice dice{seed};
    for (int i = 0; i < 30'000 && !testing::Test::HasFailure(); ++i) {
        const Layout layout = small_layout(dice);
        const PlanOptions options = random_options(dice, layout);
        compare(layout, options, limits_for(dice, rule));
    }
}

// Every layout of up to five pages in seven frames, some of them twice.
void compare_all(PageSizeRule rule, const PlanOptions& options)
{
    const Limits limits{.max_page_shift = PageShift{14},
                        .rule = rule,
                        .indirect = {.klm = true, .ksm = true, .max_ksm_shift = PageShift{15}}};
    constexpr std::uint64_t frames = 7;
    std::uint64_t count = 1;
    for (int pages = 1; pages <= 5; ++pages) {
        count *= frames;
        for (std::uint64_t number = 0; number < count && !testing::Test::HasFailure(); ++number) {
            Layout layout;
            for (std::uint64_t rest = number, i = 0; static_cast<int>(i) < pages; ++i, rest /= frames)
                layout.append(DmaAddress{rest % frames * small_page}, small_page);
            compare(layout, options, limits);
        }
    }
}

} // namespace

TEST(OptimalPlanModel, NoChoiceOfMemoryRegionsCostsLess)
{
    compare_many(11, PageSizeRule::memory_region, random_limits);
}

TEST(OptimalPlanModel, NoChoiceOfUmemsCostsLess)
{
    compare_many(12, PageSizeRule::umem, random_limits);
}

TEST(OptimalPlanModel, NoChoiceOfMemoryRegionsWithinTightLimitsCostsLess)
{
    compare_many(13, PageSizeRule::memory_region, tight_limits);
}

TEST(OptimalPlanModel, NoChoiceOfUmemsWithinTightLimitsCostsLess)
{
    compare_many(14, PageSizeRule::umem, tight_limits);
}

TEST(OptimalPlanModel, NoChoiceCostsLessForAnyLayoutOfFivePages)
{
    compare_all(PageSizeRule::memory_region, {.weights = {.mtt = 1, .mkey = 1, .indirect = 1}});
    compare_all(PageSizeRule::memory_region, {.iova = Iova{3 * small_page}, .weights = {.mtt = 3, .mkey = 1}});
    compare_all(PageSizeRule::umem, {.single_key = false, .weights = {.mtt = 2, .mkey = 1, .indirect = 0}});
}
