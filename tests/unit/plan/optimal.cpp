// SPDX-License-Identifier: BSD-3-Clause
#include <mrzone/plan.hpp>

#include <gtest/gtest.h>

#include <cerrno>
#include <initializer_list>
#include <string_view>
#include <utility>

using namespace mrz;

namespace {

constexpr std::uint64_t va = 0x7f00'0000'0000; // a multiple of every page size up to 2 GiB
constexpr Weights ones{.mtt = 1, .mkey = 1, .indirect = 1};

Layout layout_of(std::initializer_list<std::pair<std::uint64_t, std::size_t>> extents)
{
    Layout layout;
    for (const auto& [dma, length] : extents)
        layout.append(DmaAddress{dma}, length);
    return layout;
}

// Two gigabytes, each in one piece, that no page over 4 KiB can map with one key.
Layout two_gigabytes()
{
    return layout_of({{4_GiB, 1_GiB}, {16_GiB + 4_KiB, 1_GiB}});
}

Limits with_indirect()
{
    return {.indirect = {.klm = true, .ksm = true}};
}

Limits with_klm()
{
    return {.indirect = {.klm = true}};
}

void expect_refused(const Layout& layout, const PlanOptions& options, const Limits& limits, std::string_view named)
{
    try {
        make_optimal_plan(layout, options, limits);
        ADD_FAILURE() << "nothing was thrown, expected: " << named;
    } catch (const Error& error) {
        EXPECT_EQ(error.error_number(), EINVAL);
        EXPECT_EQ(error.cause().trouble, Trouble::invalid);
        EXPECT_NE(std::string_view{error.what()}.find(named), std::string_view::npos) << error.what();
        EXPECT_FALSE(error.cause().limit.empty());
        EXPECT_FALSE(error.cause().remedy.empty());
    }
}

} // namespace

TEST(OptimalPlan, IsOneDirectKeyWhereThatIsCheapest)
{
    const Plan plan = make_optimal_plan(layout_of({{4_GiB, 1_GiB}}), {}, with_indirect());
    ASSERT_EQ(plan.keys.size(), 1U);
    EXPECT_FALSE(plan.indirect);
    EXPECT_EQ(plan.cost(), 8U + 1U) << "a key and an entry, in units of 8 bytes";
    EXPECT_EQ(plan.weights, Weights{});
}

TEST(OptimalPlan, CutsWhereTheDeviceHasIndirectKeys)
{
    const Plan one = make_optimal_plan(two_gigabytes(), {.weights = ones}, {});
    EXPECT_EQ(one.mtt_entries(), 524'288U);
    EXPECT_FALSE(one.indirect);

    const Plan plan = make_optimal_plan(two_gigabytes(), {.weights = ones}, with_klm());
    ASSERT_EQ(plan.keys.size(), 2U);
    EXPECT_EQ(plan.keys[1].offset, 1_GiB);
    EXPECT_EQ(plan.keys[1].iova, Iova{16_GiB + 4_KiB}) << "congruent, whatever the other key is";
    ASSERT_TRUE(plan.indirect);
    EXPECT_EQ(plan.indirect->kind, IndirectKind::klm);
    EXPECT_EQ(plan.indirect_entries(), 2U);
    EXPECT_EQ(plan.mtt_entries(), 2U);
    EXPECT_EQ(plan.total_entries(), 4U);
    EXPECT_EQ(plan.cost(), 3U + 2U + 2U);
}

TEST(OptimalPlan, LeavesIndirectKeysAloneWhereTheyAreNotWanted)
{
    EXPECT_FALSE(make_optimal_plan(two_gigabytes(), {.indirect = false}, with_indirect()).indirect);
}

TEST(OptimalPlan, PrefersKsmAtEqualCost)
{
    const Plan plan = make_optimal_plan(two_gigabytes(), {}, with_indirect());
    ASSERT_TRUE(plan.indirect);
    EXPECT_EQ(plan.indirect->kind, IndirectKind::ksm);
    EXPECT_EQ(plan.indirect->entry_shift, PageShift{30});
    EXPECT_EQ(plan.indirect->iova.value() % 1_GiB, 0U);
    EXPECT_EQ(plan.cost(), make_optimal_plan(two_gigabytes(), {}, with_klm()).cost());
}

TEST(OptimalPlan, KsmEntriesMayBeginBeforeTheMemory)
{
    // The first of three entries is half a gigabyte.
    const Layout layout = layout_of({{4_GiB, 512_MiB}, {16_GiB + 4_KiB, 1_GiB}, {32_GiB, 1_GiB}});
    const Plan plan = make_optimal_plan(layout, {}, with_indirect());
    ASSERT_TRUE(plan.indirect);
    EXPECT_EQ(plan.indirect->kind, IndirectKind::ksm);
    ASSERT_EQ(plan.indirect->entries.size(), 3U);
    EXPECT_EQ(plan.indirect->entries[0].length, 512_MiB);
    EXPECT_EQ(plan.indirect->iova.value() % 1_GiB, 512_MiB);
    EXPECT_GE(plan.keys[0].iova.value(), 512_MiB) << "where the first entry leads to is an address";
}

TEST(OptimalPlan, SideBySideKeysKeepTheIovaAskedFor)
{
    const Layout layout = layout_of({{4_GiB, 1_GiB}, {16_GiB, 1_GiB}, {32_GiB + 2_MiB, 2_MiB}});
    const Plan plan =
        make_optimal_plan(layout, {.iova = Iova{va}, .single_key = false, .weights = ones}, with_indirect());
    ASSERT_EQ(plan.keys.size(), 2U);
    EXPECT_FALSE(plan.indirect);
    EXPECT_EQ(plan.keys[0].length, 2_GiB);
    EXPECT_EQ(plan.keys[1].iova, Iova{va + 2_GiB});
    EXPECT_EQ(plan.mtt_entries(), 3U);
}

TEST(OptimalPlan, AnIndirectKeyMakesUpForAnIovaThatIsNotCongruent)
{
    const Layout layout = layout_of({{4_GiB, 1_GiB}});
    const Plan plan = make_optimal_plan(layout, {.iova = Iova{va + 2_MiB}, .weights = ones}, with_klm());
    ASSERT_TRUE(plan.indirect);
    EXPECT_EQ(plan.indirect->iova, Iova{va + 2_MiB});
    ASSERT_EQ(plan.keys.size(), 1U);
    EXPECT_EQ(plan.keys[0].iova, Iova{4_GiB});
    EXPECT_EQ(plan.cost(), 2U + 1U + 1U);
    ASSERT_TRUE(plan.better);
    EXPECT_EQ(plan.better->iova, Iova{4_GiB});
    EXPECT_EQ(plan.better->entries, 1U);
}

TEST(OptimalPlan, CutsUmemsWithinExtents)
{
    // A page of 2 MiB, and 4 KiB before it and behind it.
    const Layout layout = layout_of({{4_GiB - 4_KiB, 2_MiB + 8_KiB}});
    Limits limits{.rule = PageSizeRule::umem};
    const Plan plan = make_optimal_plan(layout, {.single_key = false}, limits);
    ASSERT_EQ(plan.keys.size(), 3U);
    EXPECT_EQ(plan.keys[1].offset, 4_KiB);
    EXPECT_EQ(plan.keys[1].page_shift, PageShift{21});
    ASSERT_EQ(plan.umems.size(), 3U);
    EXPECT_EQ(plan.umems[1].length, 2_MiB);
    EXPECT_EQ(plan.mtt_entries(), 3U);
}

TEST(OptimalPlan, ADirectKeyLongerThanAKlmEntryHasSeveral)
{
    const Layout layout = layout_of({{4_GiB, 5_GiB}, {64_GiB + 4_KiB, 1_GiB}});
    const Plan plan = make_optimal_plan(layout, {.weights = ones}, with_klm());
    ASSERT_EQ(plan.keys.size(), 2U);
    ASSERT_EQ(plan.indirect_entries(), 4U);
    EXPECT_EQ(plan.indirect->entries[1].key, 0U);
    EXPECT_EQ(plan.indirect->entries[1].offset, 2_GiB);
    EXPECT_EQ(plan.indirect->entries[2].length, 1_GiB);
    EXPECT_EQ(plan.indirect->entries[3].key, 1U);
}

TEST(OptimalPlan, SplitsWhatHasMoreEntriesThanAKeyMay)
{
    Limits limits = with_klm();
    limits.max_mtt_entries = 256;
    limits.max_page_shift = PageShift{21};
    const Layout layout = layout_of({{4_GiB, 1_GiB}});
    EXPECT_THROW(make_plan(layout, {}, limits), Error);
    const Plan plan = make_optimal_plan(layout, {.weights = ones}, limits);
    EXPECT_EQ(plan.keys.size(), 2U);
    EXPECT_EQ(plan.mtt_entries(), 512U);
}

TEST(OptimalPlan, StaysWithinTheEntriesOfAnIndirectKey)
{
    Limits limits = with_klm();
    limits.indirect.max_entries = 2;
    const Layout layout = layout_of({{4_GiB, 64_MiB}, {16_GiB + 4_KiB, 64_MiB}, {64_GiB, 4_KiB}});
    const Plan plan = make_optimal_plan(layout, {.weights = ones}, limits);
    EXPECT_EQ(plan.indirect_entries(), 2U);
    limits.indirect.max_entries = 1;
    EXPECT_FALSE(make_optimal_plan(layout, {.weights = ones}, limits).indirect);
}

TEST(OptimalPlan, WeightsDecide)
{
    // Apart: two keys, two entries. Together: one key, four entries.
    const Layout layout = layout_of({{4_GiB, 4_MiB}, {16_GiB + 2_MiB, 4_MiB}});
    const PlanOptions dear_entries{.single_key = false, .weights = {.mtt = 2, .mkey = 3}};
    EXPECT_EQ(make_optimal_plan(layout, dear_entries, {}).keys.size(), 2U);
    const PlanOptions dear_keys{.single_key = false, .weights = {.mtt = 1, .mkey = 3}};
    EXPECT_EQ(make_optimal_plan(layout, dear_keys, {}).keys.size(), 1U);
}

TEST(OptimalPlan, SaysWhereItHadToStopLooking)
{
    // A thousand long runs that are multiples of 4 KiB only, and KLM entries shorter than they.
    Layout layout;
    for (std::uint64_t i = 0; i < 1000; ++i)
        layout.append(DmaAddress{i * 64_GiB + i * 4_KiB}, 3_GiB + 4_KiB);
    Limits limits = with_klm();
    limits.indirect.max_entries = 2000;
    const Plan plan = make_optimal_plan(layout, {.weights = ones}, limits);
    EXPECT_FALSE(plan.proven);
    EXPECT_NE(plan.explain().find("may be a cheaper one"), std::string::npos);
    ASSERT_TRUE(plan.indirect);
    EXPECT_LE(plan.indirect_entries(), 2000U);
    EXPECT_EQ(plan.keys.back().offset + plan.keys.back().length, layout.length());
    for (const IndirectEntry& entry : plan.indirect->entries)
        EXPECT_LE(entry.length, 2_GiB);
}

TEST(OptimalPlan, RefusesAsOneKeyDoes)
{
    expect_refused({}, {}, with_indirect(), "without memory");
    expect_refused(layout_of({{4_GiB, 4_KiB}}), {.iova = Iova{~std::uint64_t{0}}}, with_indirect(), "past 2^64");
    expect_refused(layout_of({{4_GiB, 512}, {8_GiB + 1_KiB, 512}}), {.single_key = false}, with_indirect(),
                   "no page size");
    expect_refused(layout_of({{4_GiB, 4_KiB}}), {.iova = Iova{512}, .single_key = false}, {}, "congruence");
}

TEST(OptimalPlan, RefusesWeightsThatOverflow)
{
    expect_refused(layout_of({{4_GiB, 4_KiB}}), {.weights = {.mtt = ~std::uint64_t{0}}}, {}, "sum of weights");
    expect_refused(layout_of({{0, std::size_t{1} << 61}}), {.weights = {.mkey = 4096}}, {}, "sum of weights");
}

TEST(OptimalPlan, RefusesLimitsThatMakeNoSense)
{
    const Layout layout = layout_of({{4_GiB, 4_KiB}});
    expect_refused(layout, {}, {.max_mtt_entries = 0}, "the most MTT entries of a key");
    expect_refused(layout, {}, {.indirect = {.max_entries = 0}}, "the most entries of an indirect key");
    expect_refused(layout, {}, {.indirect = {.max_klm_bytes = 0}}, "longest KLM entry");
    expect_refused(layout, {}, {.indirect = {.max_klm_bytes = 4097}}, "longest KLM entry");
    expect_refused(layout, {}, {.indirect = {.min_ksm_shift = PageShift{20}, .max_ksm_shift = PageShift{19}}},
                   "KSM entry shift");
}

TEST(OptimalPlan, LongerThanAnyMemoryIsOneKey)
{
    const Layout layout = layout_of({{0, (std::size_t{1} << 62) + 4_KiB}});
    const Plan plan = make_optimal_plan(layout, {.weights = ones}, with_indirect());
    EXPECT_EQ(plan.keys.size(), 1U);
    EXPECT_FALSE(plan.proven);
}
