// SPDX-License-Identifier: BSD-3-Clause
#include "pages.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <random>

namespace mrz::soft {
namespace {

using testing::ElementsAre;

Layout layout_of(std::initializer_list<std::pair<std::uint64_t, std::size_t>> extents)
{
    Layout layout;
    for (const auto& [dma, length] : extents)
        layout.append(DmaAddress{dma}, length);
    return layout;
}

TEST(SoftPages, BeginWithTheAlignedPageAroundTheFirstByte)
{
    EXPECT_THAT(translation_pages(layout_of({{0x10'0123, 100}}), Iova{0x7000'0123}, PageShift{12}),
                ElementsAre(DmaAddress{0x10'0000}));
    EXPECT_THAT(translation_pages(layout_of({{0x10'0fff, 2}}), Iova{0x7000'0fff}, PageShift{12}),
                ElementsAre(DmaAddress{0x10'0000}, DmaAddress{0x10'1000}));
    EXPECT_THAT(translation_pages(layout_of({{0x50'0000, 4096}}), Iova{0x7010'0000}, PageShift{22}),
                ElementsAre(DmaAddress{0x40'0000}));
}

TEST(SoftPages, FollowExtentsThatBreakBetweenPages)
{
    EXPECT_THAT(
        translation_pages(layout_of({{0x10'1000, 0x1000}, {0x90'0000, 0x2000}}), Iova{0x7000'1000}, PageShift{12}),
        ElementsAre(DmaAddress{0x10'1000}, DmaAddress{0x90'0000}, DmaAddress{0x90'1000}));
    EXPECT_THAT(
        translation_pages(layout_of({{0x10'1000, 0x1000}, {0x90'0000, 0x2000}}), Iova{0x7000'1000}, PageShift{13}),
        ElementsAre(DmaAddress{0x10'0000}, DmaAddress{0x90'0000}));
}

TEST(SoftPages, ThatFramesDoNotFitAreRefusedAsMoved)
{
    const auto refused = [](const Layout& layout, Iova start, PageShift page) {
        try {
            translation_pages(layout, start, page);
        } catch (const Error& error) {
            return error.error_number() == ESTALE && error.cause().trouble == Trouble::data;
        }
        return false;
    };
    // Not congruent; congruent, but two extents within one page; congruent no longer from the second extent on.
    EXPECT_TRUE(refused(layout_of({{0x10'1000, 0x1000}}), Iova{0x7000'0000}, PageShift{13}));
    EXPECT_TRUE(refused(layout_of({{0x10'0000, 0x1000}, {0x30'1000, 0x1000}}), Iova{0x7000'0000}, PageShift{13}));
    EXPECT_TRUE(refused(layout_of({{0x10'0000, 0x2000}, {0x30'1000, 0x1000}}), Iova{0x7000'0000}, PageShift{13}));
    EXPECT_FALSE(refused(layout_of({{0x10'0000, 0x2000}, {0x30'0000, 0x1000}}), Iova{0x7000'0000}, PageShift{13}));
}

TEST(SoftPages, AreAsManyAsThePlannerSaysAndLeadEveryByteToItsFrame)
{
    std::mt19937_64 random{3};
    for (int round = 0; round < 500; ++round) {
        Layout layout;
        const std::uint64_t first = random() % 4096;
        const std::size_t count = 1 + random() % 8;
        for (std::size_t i = 0; i < count; ++i) {
            const std::uint64_t unit = std::uint64_t{1} << (12 + random() % 4);
            const std::uint64_t dma = random() % 64 * unit;
            layout.append(DmaAddress{i == 0 ? dma + first : dma}, i == 0 ? unit - first : unit);
        }
        const Iova start{(random() % 64 << 12) + first};
        const Plan plan = make_plan(layout, start, Limits{});
        const std::vector<DmaAddress> pages = translation_pages(layout, start, plan.keys[0].page_shift);
        ASSERT_EQ(pages.size(), plan.mtt_entries());
        const std::uint64_t page = plan.keys[0].page_shift.bytes();
        for (const Extent& extent : layout.extents()) {
            for (const std::uint64_t offset : {std::uint64_t{0}, extent.length / 2, extent.length - 1}) {
                const std::uint64_t at = start.value() + extent.offset + offset;
                ASSERT_EQ(pages[at / page - start.value() / page].value() + at % page, extent.dma.value() + offset);
            }
        }
    }
}

} // namespace
} // namespace mrz::soft
