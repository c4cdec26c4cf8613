// SPDX-License-Identifier: BSD-3-Clause
#include <mrzone/plan.hpp>

#include <gtest/gtest.h>

#include <cerrno>
#include <initializer_list>
#include <utility>

using namespace mrz;

namespace {

constexpr std::uint64_t va = 0x7f00'0000'0000; // a multiple of every page size up to 2 GiB

Layout layout_of(std::initializer_list<std::pair<std::uint64_t, std::size_t>> extents)
{
    Layout layout;
    for (const auto& [dma, length] : extents)
        layout.append(DmaAddress{dma}, length);
    return layout;
}

void expect_limit(const Plan& plan, LimitTerm term, unsigned bit, std::uint64_t at)
{
    EXPECT_EQ(to_string(plan.limit.term), to_string(term));
    EXPECT_EQ(plan.limit.bit, bit);
    EXPECT_EQ(plan.limit.at, Iova{at});
}

void expect_refused(const Layout& layout, std::optional<Iova> iova, const Limits& limits, std::string_view named)
{
    try {
        make_plan(layout, iova, limits);
        ADD_FAILURE() << "nothing was thrown, expected: " << named;
    } catch (const Error& error) {
        EXPECT_EQ(error.error_number(), EINVAL);
        EXPECT_EQ(error.cause().trouble, Trouble::invalid);
        EXPECT_NE(std::string_view{error.what()}.find(named), std::string_view::npos) << error.what();
        EXPECT_FALSE(error.cause().remedy.empty());
    }
}

} // namespace

TEST(Planner, OneEntryCoversACongruentGigabyte)
{
    const Plan plan = make_plan(layout_of({{5_GiB, 1_GiB}}), Iova{va}, {});
    EXPECT_EQ(plan.bytes, 1_GiB);
    ASSERT_EQ(plan.keys.size(), 1U);
    EXPECT_EQ(plan.keys[0].iova, Iova{va});
    EXPECT_EQ(plan.keys[0].length, 1_GiB);
    EXPECT_EQ(plan.keys[0].page_shift, PageShift{30});
    EXPECT_EQ(plan.mtt_entries(), 1U);
    EXPECT_EQ(plan.total_entries(), 1U);
    EXPECT_EQ(plan.cost(), 2U);
    EXPECT_TRUE(plan.umems.empty());
    expect_limit(plan, LimitTerm::congruence, 30, va);
}

TEST(Planner, AnAddressCongruentModuloTwoMebibytesCostsAnEntryEach)
{
    const Layout layout = layout_of({{4_GiB, 128_MiB}});
    const Plan plan = make_plan(layout, Iova{va + 2_MiB}, {});
    EXPECT_EQ(plan.mtt_entries(), 64U);
    expect_limit(plan, LimitTerm::congruence, 21, va + 2_MiB);
    EXPECT_EQ(make_plan(layout, Iova{va}, {}).mtt_entries(), 1U);
    EXPECT_EQ(make_plan(layout, std::nullopt, {}).mtt_entries(), 1U);
}

TEST(Planner, GluesTwoRunsWhoseBreakIsAligned)
{
    const Plan plan = make_plan(layout_of({{1_GiB, 64_MiB}, {8_GiB + 64_MiB, 64_MiB}}), std::nullopt, {});
    EXPECT_EQ(plan.mtt_entries(), 2U);
    expect_limit(plan, LimitTerm::breaks, 26, 1_GiB + 64_MiB);
}

TEST(Planner, CutsTwoRunsWhoseBreakIsNotAligned)
{
    const Plan plan = make_plan(layout_of({{1_GiB, 62_MiB}, {8_GiB + 62_MiB, 66_MiB}}), std::nullopt, {});
    EXPECT_EQ(plan.mtt_entries(), 64U);
    expect_limit(plan, LimitTerm::breaks, 21, 1_GiB + 62_MiB);
}

TEST(Planner, FirstAndLastRunMayBePartsOfAPage)
{
    // 2 MiB before a 1-GiB boundary, and 4 MiB after another.
    const Plan plan = make_plan(layout_of({{1_GiB - 2_MiB, 2_MiB}, {4_GiB, 4_MiB}}), Iova{va - 2_MiB}, {});
    EXPECT_EQ(plan.keys[0].page_shift, PageShift{30});
    EXPECT_EQ(plan.mtt_entries(), 2U);
}

TEST(Planner, ARunThatStraddlesAMultipleCostsOneMore)
{
    const Limits limits{.max_page_shift = PageShift{30}};
    const Plan plan = make_plan(layout_of({{4_GiB + 512_MiB, 1_GiB}}), std::nullopt, limits);
    EXPECT_EQ(plan.mtt_entries(), 2U);
    expect_limit(plan, LimitTerm::device, 30, 4_GiB + 512_MiB);
}

TEST(Planner, AtTwoGibibytesTheSameRunIsOneEntry)
{
    const Plan plan = make_plan(layout_of({{4_GiB + 512_MiB, 1_GiB}}), std::nullopt, {});
    EXPECT_EQ(plan.mtt_entries(), 1U);
    expect_limit(plan, LimitTerm::length, 31, 4_GiB + 512_MiB);
}

TEST(Planner, TakesNoLargerPageThanCoversEverything)
{
    const Plan plan = make_plan(layout_of({{4_GiB, 12_KiB}}), Iova{4_GiB}, {});
    EXPECT_EQ(plan.keys[0].page_shift, PageShift{14});
    expect_limit(plan, LimitTerm::length, 14, 4_GiB);
}

TEST(Planner, TheSmallestPageMayBeLargerThanTheLength)
{
    const Plan plan = make_plan(layout_of({{4_GiB, 12_KiB}}), Iova{4_GiB}, {.min_page_shift = PageShift{21}});
    EXPECT_EQ(plan.keys[0].page_shift, PageShift{21});
    expect_limit(plan, LimitTerm::length, 21, 4_GiB);
}

TEST(Planner, SeesABreakWhereASegmentIsFull)
{
    // 4 GiB from 1 GiB on: split at 3 GiB, which is no multiple of 2 GiB.
    const Layout layout = layout_of({{1_GiB, 4_GiB}});
    const Plan merged = make_plan(layout, std::nullopt, {});
    EXPECT_EQ(merged.mtt_entries(), 3U);
    expect_limit(merged, LimitTerm::device, 31, 1_GiB);
    const Plan split = make_plan(layout, std::nullopt, {.max_segment = 2_GiB});
    EXPECT_EQ(split.mtt_entries(), 4U);
    expect_limit(split, LimitTerm::segment, 30, 3_GiB);
}

TEST(Planner, CountsSegmentsFromTheStartOfTheFirstPage)
{
    const Plan plan = make_plan(layout_of({{16_MiB + 512, 2_MiB}}), std::nullopt, {.max_segment = 1_MiB});
    expect_limit(plan, LimitTerm::segment, 20, 17_MiB);
}

TEST(Planner, FindsTheLowestSegmentWithoutVisitingAll)
{
    const Layout layout = layout_of({{std::uint64_t{1} << 32, std::size_t{1} << 62}});
    const Plan plan = make_plan(layout, std::nullopt, {.max_segment = 12_KiB});
    expect_limit(plan, LimitTerm::segment, 12, (std::uint64_t{1} << 32) + 12_KiB);
    const Plan second = make_plan(layout, std::nullopt, {.max_segment = 8_KiB});
    expect_limit(second, LimitTerm::segment, 13, (std::uint64_t{1} << 32) + 8_KiB);
}

TEST(Planner, TheSecondSegmentMayBeTheWorse)
{
    // Split at 8 KiB and at 12 KiB of the key's space.
    const Plan plan = make_plan(layout_of({{4_KiB, 12_KiB}}), std::nullopt, {.max_segment = 4_KiB});
    expect_limit(plan, LimitTerm::segment, 12, 12_KiB);
}

TEST(Planner, TiesGoToCongruenceThenBreakThenLengthThenDeviceThenSegment)
{
    // The second extent is not congruent at bit 21, and it begins at a 2-MiB boundary.
    const Layout two = layout_of({{8_MiB, 2_MiB}, {16_MiB, 2_MiB}});
    expect_limit(make_plan(two, Iova{8_MiB}, {.max_page_shift = PageShift{21}}), LimitTerm::congruence, 21, 10_MiB);
    // Congruent, but beginning there.
    const Layout congruent = layout_of({{8_MiB, 2_MiB}, {18_MiB, 2_MiB}});
    expect_limit(make_plan(congruent, Iova{8_MiB}, {.max_page_shift = PageShift{21}}), LimitTerm::breaks, 21, 10_MiB);
    const Layout one = layout_of({{8_MiB, 2_MiB}});
    expect_limit(make_plan(one, Iova{8_MiB}, {.max_page_shift = PageShift{21}}), LimitTerm::length, 21, 8_MiB);
    const Layout longer = layout_of({{8_MiB, 4_MiB}});
    expect_limit(make_plan(longer, Iova{8_MiB}, {.max_page_shift = PageShift{21}, .max_segment = 2_MiB}),
                 LimitTerm::device, 21, 8_MiB);
}

TEST(Planner, NamesTheFirstExtentThatLimits)
{
    const Layout layout = layout_of({{0, 4_MiB}, {100_MiB, 2_MiB}, {201_MiB + 1_MiB, 2_MiB}, {308_MiB, 2_MiB}});
    // Extents begin at 4, 6 and 8 MiB; 100 and 202 and 308 MiB.
    expect_limit(make_plan(layout, Iova{0}, {}), LimitTerm::breaks, 21, 6_MiB);
}

TEST(Planner, UmemNeedsBaseLengthAndIovaAligned)
{
    const Limits umem{.rule = PageSizeRule::umem};
    const Layout aligned = layout_of({{4_GiB, 1_GiB}});
    const Plan whole = make_plan(aligned, Iova{va}, umem);
    EXPECT_EQ(whole.mtt_entries(), 1U);
    ASSERT_EQ(whole.umems.size(), 1U);
    EXPECT_EQ(whole.umems[0].length, 1_GiB);
    EXPECT_EQ(whole.umems[0].page_shift, PageShift{30});
    expect_limit(whole, LimitTerm::length, 30, va);

    const Plan iova = make_plan(aligned, Iova{va + 2_MiB}, umem);
    expect_limit(iova, LimitTerm::congruence, 21, va + 2_MiB);
    EXPECT_EQ(iova.mtt_entries(), 512U);

    const Plan length = make_plan(layout_of({{4_GiB, 1_GiB + 2_MiB}}), Iova{va}, umem);
    expect_limit(length, LimitTerm::length, 21, va);
    EXPECT_EQ(length.mtt_entries(), 513U);

    const Plan base = make_plan(layout_of({{4_GiB + 64_MiB, 1_GiB}}), std::nullopt, umem);
    expect_limit(base, LimitTerm::congruence, 26, 4_GiB + 64_MiB);
    EXPECT_EQ(base.mtt_entries(), 16U);
}

TEST(Planner, UmemTakesSmallPagesWhereTheBaseLiesWithinOne)
{
    const Limits umem{.rule = PageSizeRule::umem};
    const Layout layout = layout_of({{4_GiB + 512, 8_KiB}});
    const Plan plan = make_plan(layout, Iova{va + 512}, umem);
    EXPECT_EQ(plan.umems.at(0).page_shift, PageShift{12});
    EXPECT_EQ(plan.mtt_entries(), 3U);
    expect_limit(plan, LimitTerm::congruence, 12, va + 512);
    expect_refused(layout, Iova{va}, umem, "congruence");
}

TEST(Planner, UmemBreaksAreNamedByTheirIova)
{
    const Limits umem{.rule = PageSizeRule::umem};
    const Plan plan = make_plan(layout_of({{4_GiB, 4_MiB}, {6_GiB + 4_MiB, 4_MiB}}), Iova{va}, umem);
    EXPECT_EQ(plan.mtt_entries(), 2U);
    expect_limit(plan, LimitTerm::breaks, 22, va + 4_MiB);
}

TEST(Planner, AKeyMayEndAtTheTopOfTheAddressSpace)
{
    const std::uint64_t top = ~std::uint64_t{0} - 2_MiB + 1;
    const Plan plan = make_plan(layout_of({{2_MiB, 2_MiB}}), Iova{top}, {});
    EXPECT_EQ(plan.keys[0].page_shift, PageShift{21});
    EXPECT_EQ(plan.mtt_entries(), 1U);
    EXPECT_EQ(make_plan(layout_of({{top, 2_MiB}}), std::nullopt, {}).keys[0].iova, Iova{top});
    expect_refused(layout_of({{2_MiB, 2_MiB}}), Iova{top + 1}, {}, "past 2^64");
}

TEST(Planner, AChosenIovaStaysCongruentWhereTheDmaAddressIsTooHigh)
{
    const std::uint64_t top = ~std::uint64_t{0} - 1_GiB + 1;
    const Layout layout = layout_of({{top, 1_GiB}, {0, 1_GiB}});
    const Plan plan = make_plan(layout, std::nullopt, {.max_page_shift = PageShift{30}});
    EXPECT_EQ(plan.keys[0].iova, Iova{0});
    EXPECT_EQ(plan.mtt_entries(), 2U);
    const Plan larger = make_plan(layout, std::nullopt, {});
    EXPECT_EQ(larger.keys[0].iova, Iova{1_GiB});
    EXPECT_EQ(larger.mtt_entries(), 2U);
}

TEST(Planner, AChosenIovaGivesUpPageSizesForWhichThereIsNoRoom)
{
    const std::uint64_t half = std::uint64_t{1} << 63;
    const Layout layout = layout_of({{half - 4096, half}, {4096, half - 4096}});
    const Plan plan = make_plan(layout, std::nullopt, {.max_page_shift = PageShift{63}});
    EXPECT_EQ(plan.bytes, ~std::uint64_t{0} - 4095);
    EXPECT_EQ(plan.keys[0].iova, Iova{4096});
    expect_limit(plan, LimitTerm::breaks, 12, half + 4096);
}

TEST(Planner, RefusesWhatHasRoomAtNoIova)
{
    const std::uint64_t half = std::uint64_t{1} << 63;
    expect_refused(layout_of({{2048, half}, {0, half - 1024}}), std::nullopt, {}, "no iova");
}

TEST(Planner, RefusesALayoutWithoutMemory)
{
    expect_refused({}, std::nullopt, {}, "without memory");
}

TEST(Planner, RefusesLimitsThatContradict)
{
    const Layout layout = layout_of({{0, 4_KiB}});
    expect_refused(layout, std::nullopt, {.min_page_shift = PageShift{21}, .max_page_shift = PageShift{20}}, "above");
    expect_refused(layout, std::nullopt, {.max_segment = 0}, "segment is 0");
    expect_refused(layout, std::nullopt, {.max_segment = 4097}, "segment is 4097");
}

TEST(Planner, NamesTheTermThatLeavesNoPageSize)
{
    const Layout layout = layout_of({{2_MiB, 4_MiB}});
    expect_refused(layout, Iova{2_MiB + 512}, {}, "congruence: the largest page it allows, in bytes, is 512");
    expect_refused(layout, Iova{4_MiB}, {.min_page_shift = PageShift{22}}, "congruence");
    expect_refused(layout_of({{0, 4_KiB}, {1_GiB + 4_KiB, 4_KiB}}), Iova{0}, {.min_page_shift = PageShift{21}},
                   "break: the largest page it allows, in bytes, is 4096, needed 2097152");
    expect_refused(layout, Iova{2_MiB}, {.min_page_shift = PageShift{21}, .max_segment = 1_MiB}, "segment");
    expect_refused(layout_of({{2_MiB, 1_MiB}}), Iova{2_MiB},
                   {.min_page_shift = PageShift{21}, .rule = PageSizeRule::umem}, "length");
}

TEST(Planner, PlansAMillionExtents)
{
    Layout layout;
    for (std::uint64_t i = 0; i < 1'000'000; ++i)
        layout.append(DmaAddress{(2'000'000 - 2 * i) * 2_MiB}, 2_MiB);
    EXPECT_EQ(layout.extents().size(), 1'000'000U);
    EXPECT_EQ(make_plan(layout, Iova{va}, {}).mtt_entries(), 1'000'000U);
}
