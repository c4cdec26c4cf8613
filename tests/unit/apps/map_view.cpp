// SPDX-License-Identifier: BSD-3-Clause
#include "map_layouts.hpp"

#include "common/map_view.hpp"
#include "mrz/map_ranges.hpp"

#include <gtest/gtest.h>

namespace mrz::app {
namespace {

TEST(MapView, CountsAnExtentForEachRunAndABreakBetweenTwo)
{
    const RangeView view = view_range(pages_at(0x40000000, {0x80000000, 0x80200000, 0x90400000, 0x90600000}), {});
    EXPECT_EQ(view.extents, 2U);
    EXPECT_EQ(view.breaks, 1U);
    ASSERT_TRUE(view.plan);
    EXPECT_EQ(view.plan->mtt_entries(), 2U);
    EXPECT_EQ(view.limiting_page(), 2U);
    EXPECT_EQ(view.entries_apart, 2U);
    EXPECT_EQ(view.guaranteed.mtt_entries(), 4U);
}

TEST(MapView, MarksNoLimitWhereNothingCouldBeBetter)
{
    const RangeView view = view_range(one_extent(0x40200000, 0x80000000, 1), {});
    ASSERT_TRUE(view.plan);
    EXPECT_EQ(view.plan->limit.term, LimitTerm::congruence);
    EXPECT_FALSE(view.limiting_page());
}

TEST(MapView, PagesThatAreNotThereEndAnExtentButBreakNothing)
{
    const RangeView view =
        view_range(pages_at(0x40000000, {0x80000000, not_there, not_there, 0x80200000, 0x80400000}), {});
    EXPECT_EQ(view.extents, 2U);
    EXPECT_EQ(view.breaks, 0U);
    EXPECT_EQ(view.absent_pages, 2U);
    EXPECT_FALSE(view.plan) << "nobody knows where they will be";
    EXPECT_EQ(view.guaranteed.mtt_entries(), 5U);
}

TEST(MapView, HiddenPagesHaveOnlyAGuarantee)
{
    const RangeView view = view_range(hidden_pages(0x40000000, 3), {});
    EXPECT_TRUE(view.hidden);
    EXPECT_FALSE(view.plan);
    EXPECT_EQ(view.guaranteed.mtt_entries(), 3U);
    const Json json = to_json(MapView{.title = "it", .ranges = {view}, .note = frames_note(true, false)});
    EXPECT_TRUE(json.at("ranges").at(0).at("extents").is_null());
    EXPECT_TRUE(json.at("ranges").at(0).at("breaks").is_null());
    EXPECT_FALSE(json.at("unknown").is_null());
}

TEST(MapView, BeginsRowsAtTheirMultipleWhereverTheRangeBegins)
{
    // 0x47e00000 is the last page of a row of 128 MiB.
    const RangeView view = view_range(one_extent(0x47e00000, 0x80000000, 66), {});
    const std::vector<Row> rows = rows_of(view);
    ASSERT_EQ(rows.size(), 3U);
    EXPECT_EQ(rows[0].address, 0x40000000U);
    EXPECT_EQ(rows[0].lead, 63U);
    EXPECT_EQ(rows[0].pieces.front().pages, 1U);
    EXPECT_EQ(rows[1].address, 0x48000000U);
    EXPECT_EQ(rows[1].pieces.front().pages, 64U);
    EXPECT_EQ(rows[2].pieces.front().pages, 1U);
}

TEST(MapView, FoldsWholeRowsOfOneExtent)
{
    const RangeView view = view_range(one_extent(0x40000000, 0x80000000, 64 * 1000 + 3), {});
    const std::vector<Row> rows = rows_of(view);
    ASSERT_EQ(rows.size(), 2U);
    EXPECT_EQ(rows[0].stands_for, 1000U);
    EXPECT_EQ(rows[1].stands_for, 1U);
    EXPECT_EQ(rows[1].address, 0x40000000U + 1000U * 64U * 2_MiB);
}

TEST(MapView, GivesEachPageToOneRowAndEachBreakOnce)
{
    std::vector<std::uint64_t> frames;
    for (std::uint64_t i = 0; i < 500; ++i)
        frames.push_back(0x80000000 + (i % 7 == 0 ? 1000 + i : i) * 2_MiB);
    const RangeView view = view_range(pages_at(0x42600000, frames), {});
    std::size_t pages = 0;
    std::size_t breaks = 0;
    for (const Row& row : rows_of(view)) {
        std::size_t in_row = row.lead;
        for (const RowPiece& piece : row.pieces) {
            EXPECT_EQ(piece.first, pages);
            pages += piece.pages;
            in_row += piece.pages;
        }
        EXPECT_LE(in_row, pages_a_row);
        pages += (row.stands_for - 1) * pages_a_row;
        breaks += row.breaks();
    }
    EXPECT_EQ(pages, 500U);
    EXPECT_EQ(breaks, view.breaks);
    EXPECT_GT(breaks, 100U);
}

TEST(MapView, SaysThatThereIsNothing)
{
    EXPECT_EQ((MapView{.title = "process 7 (x)", .ranges = {}, .note = {}}.headline()),
              "Hugepages of process 7 (x): none");
}

host::MappedMemory mapping(std::uint64_t begin, std::size_t pages, std::string name)
{
    return {.begin = begin, .end = begin + pages * 2_MiB, .name = std::move(name), .page_size = 2_MiB};
}

TEST(MapRanges, JoinTheMappingsOfOnePageEachThatDpdkMakes)
{
    const auto ranges = join_mappings({mapping(0x40000000, 1, "/dev/hugepages/rtemap_0"),
                                       mapping(0x40200000, 1, "/dev/hugepages/rtemap_1"),
                                       mapping(0x40600000, 1, "/dev/hugepages/rtemap_2")});
    ASSERT_EQ(ranges.size(), 2U);
    EXPECT_EQ(ranges[0].pages, 2U);
    EXPECT_EQ(ranges[0].mappings, 2U);
    EXPECT_EQ(ranges[1].address, 0x40600000U) << "a hole is between them";
}

TEST(MapRanges, KeepApartWhatSomebodyAskedForAlone)
{
    const std::string anonymous = "/anon_hugepage (deleted)";
    EXPECT_EQ(join_mappings({mapping(0x40000000, 4, anonymous), mapping(0x40800000, 4, anonymous)}).size(), 2U);
    EXPECT_EQ(join_mappings({mapping(0x40000000, 1, anonymous), mapping(0x40200000, 1, anonymous)}).size(), 1U);
}

TEST(MapRanges, KeepApartPagesOfDifferentSizes)
{
    auto large = mapping(0x40200000, 512, "/a");
    large.page_size = 1_GiB;
    EXPECT_EQ(join_mappings({mapping(0x40000000, 1, "/a"), large}).size(), 2U);
}

TEST(MapRanges, ShowAnArenasHeaderPageAlone)
{
    const std::string window = "/memfd:mrzone (deleted)";
    const auto scattered = join_mappings(
        {mapping(0x3fe00000, 1, window), mapping(0x40000000, 3, window), mapping(0x40600000, 1, window)});
    ASSERT_EQ(scattered.size(), 2U);
    EXPECT_EQ(scattered[0].pages, 1U);
    EXPECT_EQ(scattered[1].address, 0x40000000U);
    EXPECT_EQ(scattered[1].pages, 4U);

    const auto in_order = join_mappings({mapping(0x3fe00000, 5, window)});
    ASSERT_EQ(in_order.size(), 2U);
    EXPECT_EQ(in_order[0].pages, 1U);
    EXPECT_EQ(in_order[1].pages, 4U);
}

} // namespace
} // namespace mrz::app
