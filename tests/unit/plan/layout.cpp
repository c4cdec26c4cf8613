// SPDX-License-Identifier: BSD-3-Clause
#include <mrzone/plan.hpp>

#include <gtest/gtest.h>

#include <cerrno>
#include <limits>

using namespace mrz;

namespace {

constexpr std::uint64_t last_page = ~std::uint64_t{0} - 4095;

template <class Call>
void expect_invalid(Call call, std::string_view named)
{
    try {
        call();
        ADD_FAILURE() << "nothing was thrown, expected: " << named;
    } catch (const Error& error) {
        EXPECT_EQ(error.error_number(), EINVAL);
        EXPECT_EQ(error.cause().trouble, Trouble::invalid);
        EXPECT_NE(std::string_view{error.what()}.find(named), std::string_view::npos) << error.what();
    }
}

} // namespace

TEST(Layout, MergesExtentsThatGoOn)
{
    Layout layout;
    layout.append(DmaAddress{2_MiB}, 4_KiB);
    layout.append(DmaAddress{2_MiB + 4_KiB}, 8_KiB);
    layout.append(DmaAddress{4_MiB}, 4_KiB);
    ASSERT_EQ(layout.extents().size(), 2U);
    EXPECT_EQ(layout.extents()[0], (Extent{.offset = 0, .dma = DmaAddress{2_MiB}, .length = 12_KiB}));
    EXPECT_EQ(layout.extents()[1], (Extent{.offset = 12_KiB, .dma = DmaAddress{4_MiB}, .length = 4_KiB}));
    EXPECT_EQ(layout.length(), 16_KiB);
}

TEST(Layout, DoesNotMergeDownwards)
{
    Layout layout;
    layout.append(DmaAddress{8_KiB}, 4_KiB);
    layout.append(DmaAddress{4_KiB}, 4_KiB);
    EXPECT_EQ(layout.extents().size(), 2U);
}

TEST(Layout, DoesNotGoOnFromTheTopOfTheAddressSpaceToZero)
{
    Layout layout;
    layout.append(DmaAddress{last_page}, 4_KiB);
    layout.append(DmaAddress{0}, 4_KiB);
    EXPECT_EQ(layout.extents().size(), 2U);
}

TEST(Layout, RefusesEmptyAndWrappingExtents)
{
    Layout layout;
    expect_invalid([&] { layout.append(DmaAddress{4096}, 0); }, "0 bytes");
    expect_invalid([&] { layout.append(DmaAddress{last_page}, 4_KiB + 1); }, "past 2^64");
    EXPECT_TRUE(layout.extents().empty());
}

TEST(Layout, RefusesMoreThanASizeCanSay)
{
    Layout layout;
    layout.append(DmaAddress{0}, std::numeric_limits<std::size_t>::max());
    expect_invalid([&] { layout.append(DmaAddress{0}, 1); }, "reaches 2^64");
    EXPECT_EQ(layout.length(), std::numeric_limits<std::size_t>::max());
}

TEST(Layout, OfPagesTakesThemInTheOrderGiven)
{
    const std::vector<DmaAddress> frames{DmaAddress{4_MiB}, DmaAddress{6_MiB}, DmaAddress{0}};
    const Layout layout = Layout::of_pages(frames, PageShift{21});
    ASSERT_EQ(layout.extents().size(), 2U);
    EXPECT_EQ(layout.extents()[0].length, 4_MiB);
    EXPECT_EQ(layout.extents()[1].dma, DmaAddress{0});
    EXPECT_EQ(layout.length(), 6_MiB);
}

TEST(Layout, WorstCaseNeedsAnEntryAPageAtAnyAddress)
{
    const PageShift page{21};
    for (std::size_t count = 1; count <= 9; ++count) {
        const Layout layout = Layout::worst_case(page, count);
        EXPECT_EQ(layout.extents().size(), count);
        EXPECT_EQ(layout.length(), count * page.bytes());
        EXPECT_EQ(make_plan(layout, std::nullopt, {}).mtt_entries(), count);
        for (std::uint64_t at = 0; at < 64; ++at) {
            const Plan plan = make_plan(layout, Iova{at * page.bytes()}, {});
            EXPECT_EQ(plan.mtt_entries(), count);
            EXPECT_EQ(plan.keys[0].page_shift, page);
        }
    }
}

TEST(Layout, WorstCaseRefusesWhatNoAddressSpaceHolds)
{
    expect_invalid([] { Layout::worst_case(PageShift{30}, std::size_t{1} << 34); }, "address space");
}

TEST(Layout, GivesAnyPartOfItself)
{
    Layout layout;
    layout.append(DmaAddress{2_MiB}, 8_KiB);
    layout.append(DmaAddress{8_MiB}, 4_KiB);
    layout.append(DmaAddress{4_MiB}, 16_KiB);
    const Layout middle = layout.part(4_KiB, 10_KiB);
    ASSERT_EQ(middle.extents().size(), 3U);
    EXPECT_EQ(middle.extents()[0], (Extent{.offset = 0, .dma = DmaAddress{2_MiB + 4_KiB}, .length = 4_KiB}));
    EXPECT_EQ(middle.extents()[1], (Extent{.offset = 4_KiB, .dma = DmaAddress{8_MiB}, .length = 4_KiB}));
    EXPECT_EQ(middle.extents()[2], (Extent{.offset = 8_KiB, .dma = DmaAddress{4_MiB}, .length = 2_KiB}));
    EXPECT_EQ(layout.part(27_KiB, 1_KiB).extents()[0].dma, DmaAddress{4_MiB + 15_KiB});
    EXPECT_EQ(layout.part(0, 28_KiB).extents().size(), 3U);
    expect_invalid([&] { static_cast<void>(layout.part(0, 0)); }, "not empty");
    expect_invalid([&] { static_cast<void>(layout.part(28_KiB, 1)); }, "28672");
    expect_invalid([&] { static_cast<void>(layout.part(4_KiB, 28_KiB)); }, "28672");
}
