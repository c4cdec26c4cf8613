// SPDX-License-Identifier: BSD-3-Clause
#include <mrzone/plan.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <numeric>
#include <random>

using namespace mrz;

namespace {

constexpr PageShift two_mib{21};
// As many 2-MiB pages as make a gibibyte.
constexpr std::size_t gibibyte = 512;

// 2-MiB pages first to last, counted in 2 MiB.
void add(std::vector<DmaAddress>& frames, std::uint64_t first, std::uint64_t last)
{
    for (std::uint64_t number = first; number <= last; ++number)
        frames.push_back(DmaAddress{number * 2_MiB});
}

std::vector<DmaAddress> frames_from(std::uint64_t first, std::uint64_t last)
{
    std::vector<DmaAddress> frames;
    add(frames, first, last);
    return frames;
}

void shuffle(std::vector<DmaAddress>& frames)
{
    std::mt19937 engine{7};
    std::shuffle(frames.begin(), frames.end(), engine);
}

Layout layout_of(const Placement& placement, const std::vector<DmaAddress>& frames, PageShift page)
{
    Layout layout;
    for (const std::size_t index : placement.order)
        layout.append(frames[index], page.bytes());
    return layout;
}

// An address far from zero where the placement may lie.
Iova address_for(const Placement& placement)
{
    return Iova{(std::uint64_t{5} << 44) + placement.residue};
}

void expect_refused(const std::vector<DmaAddress>& frames, PageShift page, std::size_t count, const Limits& limits,
                    std::string_view named)
{
    try {
        place(frames, page, count, limits);
        ADD_FAILURE() << "nothing was thrown, expected: " << named;
    } catch (const Error& error) {
        EXPECT_EQ(error.error_number(), EINVAL);
        EXPECT_EQ(error.cause().trouble, Trouble::invalid);
        EXPECT_NE(std::string_view{error.what()}.find(named), std::string_view::npos) << error.what();
    }
}

} // namespace

TEST(Placement, FindsTheWholeGigabyteInAShuffledPool)
{
    std::vector<DmaAddress> frames = frames_from(3 * gibibyte - 100, 4 * gibibyte + 50);
    shuffle(frames);
    const Placement placement = place(frames, two_mib, gibibyte, {});
    EXPECT_EQ(placement.entries, 1U);
    EXPECT_EQ(placement.modulus, PageShift{30});
    EXPECT_EQ(placement.residue, 0U);
    const Layout layout = layout_of(placement, frames, two_mib);
    ASSERT_EQ(layout.extents().size(), 1U);
    EXPECT_EQ(layout.extents()[0].dma, DmaAddress{3_GiB});
    EXPECT_EQ(make_plan(layout, address_for(placement), {}).mtt_entries(), 1U);
}

TEST(Placement, DoublesTheModulusWhereARunStraddlesAMultiple)
{
    const std::vector<DmaAddress> frames = frames_from(100, 100 + gibibyte - 1);
    const Placement placement = place(frames, two_mib, gibibyte, {});
    EXPECT_EQ(placement.entries, 1U);
    EXPECT_EQ(placement.modulus, PageShift{31});
    EXPECT_EQ(placement.residue, 200_MiB);
}

TEST(Placement, ARunThatStraddlesTheLargestPageCostsTwo)
{
    const std::vector<DmaAddress> frames = frames_from(2 * gibibyte - 100, 3 * gibibyte - 101);
    const Placement placement = place(frames, two_mib, gibibyte, {});
    EXPECT_EQ(placement.entries, 2U);
    EXPECT_EQ(make_plan(layout_of(placement, frames, two_mib), address_for(placement), {}).mtt_entries(), 2U);
}

TEST(Placement, ChoosesThePartOfARunThatStraddlesNothing)
{
    const std::vector<DmaAddress> frames = frames_from(2 * gibibyte - 100, 4 * gibibyte - 200);
    const Placement placement = place(frames, two_mib, gibibyte, {});
    EXPECT_EQ(placement.entries, 1U);
    EXPECT_EQ(layout_of(placement, frames, two_mib).extents()[0].dma, DmaAddress{2 * gibibyte * 2_MiB});
}

TEST(Placement, ReturnsSurplusInDescendingFrameOrder)
{
    std::vector<DmaAddress> frames = frames_from(0, 99);
    shuffle(frames);
    const Placement placement = place(frames, two_mib, 37, {});
    EXPECT_EQ(placement.order.size(), 37U);
    EXPECT_EQ(placement.surplus.size(), 63U);
    EXPECT_TRUE(std::is_sorted(placement.surplus.begin(), placement.surplus.end(),
                               [&](std::size_t a, std::size_t b) { return frames[a] > frames[b]; }));
    std::vector<std::size_t> all = placement.order;
    all.insert(all.end(), placement.surplus.begin(), placement.surplus.end());
    std::sort(all.begin(), all.end());
    std::vector<std::size_t> expected(100);
    std::iota(expected.begin(), expected.end(), 0U);
    EXPECT_EQ(all, expected);
}

TEST(Placement, OrdersByFrameWhereNothingElseMatters)
{
    std::vector<DmaAddress> frames{DmaAddress{20_MiB}, DmaAddress{4_MiB}, DmaAddress{12_MiB}};
    const Placement placement = place(frames, two_mib, 3, {});
    EXPECT_EQ(placement.order, (std::vector<std::size_t>{1, 2, 0}));
    EXPECT_EQ(placement.entries, 3U);
    EXPECT_EQ(placement.modulus, two_mib);
}

TEST(Placement, LeavesLargerWholeBlocksToOthers)
{
    // A whole block of eight pages, and a pair elsewhere.
    std::vector<DmaAddress> frames = frames_from(0, 7);
    add(frames, 16, 17);
    const Placement pair = place(frames, two_mib, 2, {});
    EXPECT_EQ(pair.order, (std::vector<std::size_t>{8, 9}));
    const Placement one = place(frames, two_mib, 1, {});
    EXPECT_EQ(one.order, (std::vector<std::size_t>{8}));

    frames = frames_from(0, 1);
    add(frames, 8, 15);
    const Placement low_pair = place(frames, two_mib, 2, {});
    EXPECT_EQ(low_pair.order, (std::vector<std::size_t>{0, 1}));
}

TEST(Placement, PrefersAnIncompleteBlockForAPart)
{
    // Blocks of four: 0 is whole, of 1 the last is missing.
    const std::vector<DmaAddress> frames = frames_from(0, 6);
    const Placement placement = place(frames, two_mib, 3, {});
    EXPECT_EQ(placement.entries, 1U);
    EXPECT_EQ(placement.order, (std::vector<std::size_t>{4, 5, 6}));
}

TEST(Placement, TakesThePartThatFitsBest)
{
    // Blocks of eight: seven pages in 0, five in 1.
    std::vector<DmaAddress> frames = frames_from(0, 6);
    add(frames, 8, 12);
    const Placement placement = place(frames, two_mib, 5, {});
    EXPECT_EQ(placement.entries, 1U);
    EXPECT_EQ(placement.order, (std::vector<std::size_t>{7, 8, 9, 10, 11}));
}

TEST(Placement, PrefersAHeadToATailAsLong)
{
    // Blocks of four: the last two of 0, 1 whole, the first two of 2.
    const std::vector<DmaAddress> frames = frames_from(2, 9);
    const Placement placement = place(frames, two_mib, 6, {.max_page_shift = PageShift{23}});
    EXPECT_EQ(placement.entries, 2U);
    EXPECT_EQ(placement.order, (std::vector<std::size_t>{2, 3, 4, 5, 6, 7}));
}

TEST(Placement, AsksNoMoreOfTheAddressThanHelps)
{
    // Two pages on either side of a multiple of 2 GiB need two entries, however they are aligned.
    const std::vector<DmaAddress> frames = frames_from(2 * gibibyte - 1, 2 * gibibyte);
    const Placement placement = place(frames, two_mib, 2, {});
    EXPECT_EQ(placement.entries, 2U);
    EXPECT_EQ(placement.modulus, two_mib);
}

TEST(Placement, JoinsATailAndAHeadAroundWholeBlocks)
{
    // Blocks of four: the last three of 0, 2 whole, the first of 5; entries can be no larger.
    std::vector<DmaAddress> frames = frames_from(1, 3);
    add(frames, 8, 11);
    add(frames, 20, 20);
    const Placement placement = place(frames, two_mib, 8, {.max_page_shift = PageShift{23}});
    EXPECT_EQ(placement.entries, 3U);
    EXPECT_EQ(placement.order, (std::vector<std::size_t>{0, 1, 2, 3, 4, 5, 6, 7}));
}

TEST(Placement, PutsATailFirstThoughItsFrameIsTheHighest)
{
    // Blocks of four: 0 whole, and the last two of 3.
    std::vector<DmaAddress> frames = frames_from(0, 3);
    add(frames, 14, 15);
    const Placement placement = place(frames, two_mib, 6, {.max_page_shift = PageShift{23}});
    EXPECT_EQ(placement.entries, 2U);
    EXPECT_EQ(placement.order, (std::vector<std::size_t>{4, 5, 0, 1, 2, 3}));
}

TEST(Placement, KeepsDriversFromPagesThatTheirKernelDoesNotStand)
{
    // Two gibibytes that a driver which knows 2-GiB pages would cover with one of them.
    const std::vector<DmaAddress> frames = frames_from(0, 2 * gibibyte - 1);
    const Limits old_kernel{.max_page_shift = PageShift{30}};
    const Placement placement = place(frames, two_mib, 2 * gibibyte, old_kernel);
    EXPECT_EQ(placement.entries, 2U);
    EXPECT_EQ(placement.modulus, PageShift{31});
    EXPECT_EQ(placement.residue, 1_GiB);
    const Layout layout = layout_of(placement, frames, two_mib);
    EXPECT_EQ(make_plan(layout, address_for(placement), {}).keys[0].page_shift, PageShift{30});
    EXPECT_EQ(make_plan(layout, address_for(placement), old_kernel).mtt_entries(), 2U);
}

TEST(Placement, KeepsDriversFromALargePageOverAFewPagesThatStraddleIt)
{
    // Two pages at a multiple of 1 GiB: congruent by accident, they would be one 2-GiB entry.
    const std::vector<DmaAddress> frames = frames_from(gibibyte - 1, gibibyte);
    const Placement placement = place(frames, two_mib, 2, {.max_page_shift = PageShift{30}});
    EXPECT_EQ(placement.entries, 2U);
    EXPECT_EQ(placement.modulus, PageShift{31});
    EXPECT_EQ(make_plan(layout_of(placement, frames, two_mib), Iova{placement.residue}, {}).keys[0].page_shift,
              PageShift{30});
}

TEST(Placement, LeavesTheAddressAloneWhereNoDriverIsLedTooFar)
{
    const std::vector<DmaAddress> frames = frames_from(0, gibibyte - 1);
    const Placement placement = place(frames, two_mib, gibibyte, {.max_page_shift = PageShift{30}});
    EXPECT_EQ(placement.modulus, PageShift{30});
    EXPECT_EQ(placement.residue, 0U);
    EXPECT_EQ(placement.entries, 1U);
}

TEST(Placement, PlacesOneGibibytePages)
{
    const std::vector<DmaAddress> frames{DmaAddress{7_GiB}, DmaAddress{2_GiB}, DmaAddress{3_GiB}};
    const Placement pair = place(frames, PageShift{30}, 2, {});
    EXPECT_EQ(pair.entries, 1U);
    EXPECT_EQ(pair.order, (std::vector<std::size_t>{1, 2}));
    EXPECT_EQ(pair.modulus, PageShift{31});
    const Placement guarded = place(frames, PageShift{30}, 2, {.max_page_shift = PageShift{30}});
    EXPECT_EQ(guarded.entries, 2U);
    EXPECT_EQ(make_plan(layout_of(guarded, frames, PageShift{30}), Iova{guarded.residue}, {}).mtt_entries(), 2U);
}

TEST(Placement, CountsEntriesSmallerThanAPage)
{
    const std::vector<DmaAddress> frames{DmaAddress{7_GiB}, DmaAddress{2_GiB}};
    const Placement placement = place(frames, PageShift{30}, 2, {.max_page_shift = PageShift{21}});
    EXPECT_EQ(placement.entries, 1024U);
    EXPECT_EQ(placement.modulus, PageShift{30});
}

TEST(Placement, UmemBlocksAreWholeAtTheirPageSize)
{
    const Limits umem{.rule = PageSizeRule::umem};
    // A run that ibv_reg_mr would cover with one page of 16 MiB.
    const std::vector<DmaAddress> frames = frames_from(1, 6);
    EXPECT_EQ(place(frames, two_mib, 4, {}).entries, 1U);
    const Placement placement = place(frames, two_mib, 4, umem);
    EXPECT_EQ(placement.entries, 2U);
    EXPECT_EQ(placement.order, (std::vector<std::size_t>{1, 2, 3, 4}));
    EXPECT_EQ(placement.modulus, PageShift{22});
}

TEST(Placement, BeginsALongRunWhereItsSplitsAreAligned)
{
    // One page of 16 MiB would cover pages 1 to 4, were they not split before page 3.
    const std::vector<DmaAddress> frames = frames_from(1, 6);
    EXPECT_EQ(place(frames, two_mib, 4, {}).entries, 1U);
    const Placement placement = place(frames, two_mib, 4, {.max_segment = 4_MiB});
    EXPECT_EQ(placement.entries, 2U);
    EXPECT_EQ(placement.order, (std::vector<std::size_t>{1, 2, 3, 4}));
}

TEST(Placement, AlignsLongRunsSoThatSegmentsDoNotHurt)
{
    // Four gibibytes and more, beginning between two multiples of 2 GiB.
    const std::vector<DmaAddress> frames = frames_from(gibibyte, 8 * gibibyte);
    const Limits limits{.max_segment = 2_GiB};
    const Placement placement = place(frames, two_mib, 4 * gibibyte, limits);
    EXPECT_EQ(placement.entries, 2U);
    EXPECT_EQ(make_plan(layout_of(placement, frames, two_mib), address_for(placement), limits).mtt_entries(), 2U);
}

TEST(Placement, RefusesCountsThatCannotBe)
{
    const std::vector<DmaAddress> frames = frames_from(0, 3);
    expect_refused(frames, two_mib, 0, {}, "choose 0 of 4");
    expect_refused(frames, two_mib, 5, {}, "choose 5 of 4");
    expect_refused({}, two_mib, 1, {}, "choose 1 of 0");
}

TEST(Placement, RefusesFramesThatAreNoPages)
{
    expect_refused({DmaAddress{2_MiB}, DmaAddress{3_MiB}}, two_mib, 1, {}, "0x300000");
    expect_refused({DmaAddress{4_MiB}, DmaAddress{2_MiB}, DmaAddress{4_MiB}}, two_mib, 1, {},
                   "0x400000 is there twice");
}

TEST(Placement, RefusesLimitsThatContradict)
{
    expect_refused(frames_from(0, 3), two_mib, 1, {.min_page_shift = PageShift{21}, .max_page_shift = PageShift{20}},
                   "above");
}

TEST(Placement, RefusesPagesThatTheSmallestEntryDoesNotFit)
{
    std::vector<DmaAddress> frames = frames_from(0, 0);
    add(frames, 3, 3);
    add(frames, 9, 9);
    expect_refused(frames, two_mib, 3, {.min_page_shift = PageShift{22}}, "4 MiB");
}

TEST(Placement, ChoosesAmongAMillionPages)
{
    std::vector<DmaAddress> frames;
    for (std::uint64_t number = 0; number < 1'050'000; ++number)
        if (number % 20 != 7)
            frames.push_back(DmaAddress{number * 2_MiB});
    shuffle(frames);
    // Of every 20 pages one is missing, so that blocks of 16 are whole now and then and blocks of 32 never.
    const Placement placement = place(frames, two_mib, 100'000, {});
    EXPECT_EQ(placement.entries, 6250U);
    EXPECT_EQ(placement.modulus, PageShift{25});
    EXPECT_EQ(placement.order.size() + placement.surplus.size(), frames.size());
}
