// SPDX-License-Identifier: BSD-3-Clause
#include "map_layouts.hpp"

#include "common/map_picture.hpp"
#include "mrz/map_svg.hpp"

#include <gtest/gtest.h>

namespace mrz::app {
namespace {

MapView view_of(std::vector<PageRange> ranges, std::optional<FramesNote> note = {})
{
    MapView view{.title = "process 7 (x)", .ranges = {}, .note = std::move(note)};
    for (PageRange& range : ranges)
        view.ranges.push_back(view_range(std::move(range), {}));
    return view;
}

std::size_t count(const std::string& text, const std::string& part)
{
    std::size_t found = 0;
    for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size())
        ++found;
    return found;
}

TEST(MapPicture, IsPlainWithoutColour)
{
    const std::string spaces(60, ' ');
    EXPECT_EQ(
        draw_text(view_of({pages_at(0x40000000, {0x80000000, 0x80200000, 0x90400000, 0x90600000})}), false),
        "Hugepages of process 7 (x): 1 range, 8 MiB in 4 pages of 2 MiB\n"
        "\n"
        "0x40000000  8 MiB in 4 pages of 2 MiB, /a file\n"
        "  0x40000000      ██▐█" +
            spaces +
            "  0x80000000, 1 break  ◂ limits: bit 22\n"
            "\n"
            "█ a page   ▐ memory breaks before this page   · not there yet   ░ somewhere\n"
            "A row: its address, its pages, where the first one lies in physical memory, how often memory breaks.\n"
            "\n"
            "address      size   page  extents  breaks  entries  one key over it\n"
            "0x40000000  8 MiB  2 MiB        2       1        2  1 key, 2 entries of 4 MiB; limited by break: an "
            "extent begins at iova 0x40400000, aligned only to 4 MiB; extents that begin at multiples of 8 MiB would "
            "remove that\n");
}

TEST(MapPicture, ShowsPagesThatAreNotThereAndFoldsLongRuns)
{
    const std::string text = draw_text(view_of({pages_at(0x40000000, {0x80000000, not_there, 0x80400000}),
                                                one_extent(0x80000000, 0x100000000, 64 * 10)}),
                                       false);
    EXPECT_NE(text.find("█·█"), std::string::npos) << text;
    EXPECT_NE(text.find("1 page is not there yet"), std::string::npos) << text;
    EXPECT_NE(text.find("⋮ 9 more rows of the same"), std::string::npos) << text;
}

TEST(MapPicture, SaysWhatIsGuaranteedWhereFramesAreHidden)
{
    const std::string text = draw_text(view_of({hidden_pages(0x40000000, 3)}, frames_note(true, false)), false);
    EXPECT_NE(text.find("░░░"), std::string::npos) << text;
    EXPECT_NE(text.find("guaranteed: 3 entries of 2 MiB; frames are hidden"), std::string::npos) << text;
    EXPECT_NE(text.find("try: run it as root"), std::string::npos) << text;
}

TEST(MapPicture, SaysWhatIsGuaranteedBehindAnIommuThatTranslates)
{
    const std::string text =
        draw_text(view_of({one_extent(0x40000000, 0x40000000, 4)}, frames_note(false, true)), false);
    EXPECT_NE(text.find("1 entry of 8 MiB"), std::string::npos) << text;
    EXPECT_NE(text.find("guaranteed: 4 entries of 2 MiB"), std::string::npos) << text;
    EXPECT_NE(text.find("iommu=pt"), std::string::npos) << text;
}

TEST(MapPicture, StaysReadableWithManyRanges)
{
    std::vector<PageRange> ranges;
    for (std::uint64_t i = 0; i < 1000; ++i)
        ranges.push_back(one_extent(0x40000000 + i * 4_MiB, 0x80000000 + i * 4_MiB, 1));
    const std::string text = draw_text(view_of(std::move(ranges)), false);
    EXPECT_LT(count(text, "\n"), 1500U);
    EXPECT_EQ(count(text, "1 key, 1 entry of 2 MiB"), 1000U) << "a line each";
    EXPECT_NE(text.find("more ranges are not drawn"), std::string::npos);
}

TEST(MapPicture, LetsNoNameReachTheTerminalUnfiltered)
{
    PageRange range = one_extent(0x40000000, 0x40000000, 1);
    range.name = "/a\033[31mred\x9b";
    const std::string text = draw_text(view_of({range}), false);
    EXPECT_EQ(text.find('\033'), std::string::npos);
    EXPECT_EQ(text.find('\x9b'), std::string::npos);
    EXPECT_NE(text.find("/a?[31mred?"), std::string::npos);
}

TEST(MapPicture, IsTheSameUnderItsColours)
{
    const MapView view = view_of({pages_at(0x40000000, {0x80000000, not_there, 0x90400000, 0x10000000})});
    std::string coloured = draw_text(view, true);
    EXPECT_NE(coloured.find("\033["), std::string::npos);
    for (std::size_t at = 0; (at = coloured.find('\033')) != std::string::npos;)
        coloured.erase(at, coloured.find('m', at) - at + 1);
    const std::string plain = draw_text(view, false);
    EXPECT_EQ(coloured.substr(0, coloured.find("█ a page")), plain.substr(0, plain.find("█ a page")));
}

TEST(MapDrawing, MarksEachBreakOnceBesidesTheLegend)
{
    const std::string svg =
        draw_svg(view_of({pages_at(0x40000000, {0x80000000, 0x90400000, 0xa0000000, 0xa0200000})}));
    EXPECT_EQ(count(svg, "<path class=\"break\""), 1U + 2U) << svg;
    EXPECT_EQ(count(svg, "<rect class=\"limit\""), 1U + 1U) << svg;
}

TEST(MapDrawing, EscapesWhatComesFromOutside)
{
    PageRange range = one_extent(0x40000000, 0x40000000, 2);
    range.name = "/a<b>&\"c\033";
    const std::string svg = draw_svg(view_of({range}));
    EXPECT_NE(svg.find("/a&lt;b&gt;&amp;&quot;c?"), std::string::npos) << svg;
}

} // namespace
} // namespace mrz::app
