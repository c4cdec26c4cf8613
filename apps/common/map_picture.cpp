// SPDX-License-Identifier: BSD-3-Clause
#include "map_picture.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>
#include <unistd.h>

namespace mrz::app {
namespace {

constexpr std::string_view page_cell = "█";
constexpr std::string_view break_cell = "▐"; // its left half is the gap
constexpr std::string_view absent_cell = "·";
constexpr std::string_view hidden_cell = "░";

// Rows of one range, and of all: beyond, the lines below the picture must do.
constexpr std::size_t most_rows_of_one = 32;
constexpr std::size_t most_rows = 128;

class Painter {
  public:
    explicit Painter(bool colour) : colour_{colour} {}

    [[nodiscard]] std::string extent(unsigned extent_class, const std::string& text) const
    {
        constexpr std::array<std::string_view, 4> colours{"31", "33", "36", "32"}; // red, yellow, cyan, green
        return paint(colours[extent_class], text);
    }
    [[nodiscard]] std::string faint(const std::string& text) const { return paint("2", text); }
    [[nodiscard]] std::string strong(const std::string& text) const { return paint("1", text); }
    [[nodiscard]] bool colour() const { return colour_; }

  private:
    [[nodiscard]] std::string paint(std::string_view code, const std::string& text) const
    {
        return colour_ ? fmt::format("\033[{}m{}\033[0m", code, text) : text;
    }
    bool colour_;
};

std::string repeat(std::string_view cell, std::size_t count)
{
    std::string text;
    for (std::size_t i = 0; i < count; ++i)
        text += cell;
    return text;
}

std::string cells(const RangeView& view, const RowPiece& piece, const Painter& painter)
{
    const PageRun& run = view.runs[piece.run];
    switch (run.kind) {
    case PageRun::Kind::absent:
        return painter.faint(repeat(absent_cell, piece.pages));
    case PageRun::Kind::hidden:
        return repeat(hidden_cell, piece.pages);
    case PageRun::Kind::extent:
        break;
    }
    return painter.extent(extent_class(run.pages * view.range.page_size),
                          piece.after_break ? std::string{break_cell} + repeat(page_cell, piece.pages - 1)
                                            : repeat(page_cell, piece.pages));
}

// Where the row's first page lies, how often it breaks, and whether it holds what limits the plan.
std::string remarks(const RangeView& view, const Row& row)
{
    std::string text;
    const RowPiece& first = row.pieces.front();
    const PageRun& run = view.runs[first.run];
    if (run.kind == PageRun::Kind::extent)
        text = format_hex(run.dma.value() + (first.first - run.first) * view.range.page_size);
    if (const std::size_t breaks = row.breaks(); breaks > 0)
        text += fmt::format("{}{}", text.empty() ? "" : ", ", counted(breaks, "break", "breaks"));
    const auto limit = view.limiting_page();
    const RowPiece& last = row.pieces.back();
    if (limit && first.first <= *limit && *limit < last.first + last.pages)
        text += fmt::format("  ◂ limits: bit {}", view.plan->limit.bit);
    return text;
}

std::string draw(const RangeView& view, const Row& row, const Painter& painter)
{
    std::string line(row.lead, ' ');
    std::size_t width = row.lead;
    for (const RowPiece& piece : row.pieces) {
        line += cells(view, piece, painter);
        width += piece.pages;
    }
    line = fmt::format("  {:<14}  {}{:{}}  {}", format_hex(row.address), line, "", pages_a_row - width,
                       remarks(view, row));
    line.erase(line.find_last_not_of(' ') + 1);
    line += '\n';
    if (row.stands_for > 1)
        line += painter.faint(fmt::format("  {:<14}  ⋮ {} of the same", "",
                                          counted(row.stands_for - 1, "more row", "more rows"))) +
                '\n';
    return line;
}

std::string draw(const RangeView& view, std::size_t most, const Painter& painter)
{
    const std::vector<Row> rows = rows_of(view);
    const std::size_t shown = std::min(rows.size(), most);
    std::string text = painter.strong(format_hex(view.range.address) + "  " + view.range.description()) + '\n';
    for (std::size_t i = 0; i < shown; ++i)
        text += draw(view, rows[i], painter);
    if (shown == rows.size())
        return text + '\n';
    std::size_t left = 0;
    std::size_t breaks = 0;
    for (std::size_t i = shown; i < rows.size(); ++i) {
        left += rows[i].stands_for;
        breaks += rows[i].breaks();
    }
    return text + fmt::format("  {:<14}  ⋮ {}, with {}\n\n", "", counted(left, "more row", "more rows"),
                              counted(breaks, "break", "breaks"));
}

std::string legend(const Painter& painter)
{
    std::string text =
        fmt::format("{} a page   {} memory breaks before this page   {} not there yet   {} somewhere\n", page_cell,
                    break_cell, absent_cell, hidden_cell);
    if (painter.colour())
        text += fmt::format("{} extents below 8 MiB   {} below 64 MiB   {} below 1 GiB   {} longer\n",
                            painter.extent(0, std::string{page_cell}), painter.extent(1, std::string{page_cell}),
                            painter.extent(2, std::string{page_cell}), painter.extent(3, std::string{page_cell}));
    return text +
           "A row: its address, its pages, where the first one lies in physical memory, how often memory breaks.\n\n";
}

std::string why(const RangeView& view, bool frames_tell)
{
    const std::string guaranteed =
        fmt::format("guaranteed: {} of {}", counted(view.guaranteed.mtt_entries(), "entry", "entries"),
                    format_size(view.guaranteed.keys.front().page_shift.bytes()));
    if (view.plan) {
        std::string text = view.plan->explain();
        if (view.extents > 1 && view.entries_apart + view.extents < view.plan->mtt_entries() + 1)
            text += fmt::format(" (a key for each extent: {})", counted(view.entries_apart, "entry", "entries"));
        return frames_tell ? text : text + "; " + guaranteed;
    }
    if (view.hidden)
        return guaranteed + "; frames are hidden";
    return fmt::format("{}; {} not there yet", guaranteed, counted(view.absent_pages, "page is", "pages are"));
}

std::string lines(const MapView& view)
{
    Table table{{"address", ">size", ">page", ">extents", ">breaks", ">entries", "one key over it"}};
    for (const RangeView& range : view.ranges)
        table.add({format_hex(range.range.address), format_size(range.range.length()),
                   format_size(range.range.page_size), range.hidden ? "?" : fmt::format("{}", range.extents),
                   range.hidden ? "?" : fmt::format("{}", range.breaks),
                   fmt::format("{}", (range.plan ? *range.plan : range.guaranteed).mtt_entries()),
                   why(range, !view.note)});
    return table.text();
}

} // namespace

std::string draw_text(const MapView& view, bool colour)
{
    const Painter painter{colour};
    std::string text = view.headline() + "\n\n";
    if (view.ranges.empty())
        return text + to_text(view.note);
    std::size_t rows = 0;
    std::size_t drawn = 0;
    for (const RangeView& range : view.ranges) {
        const std::size_t needed = std::min(rows_of(range).size(), most_rows_of_one);
        if (rows + needed > most_rows)
            break;
        rows += needed;
        ++drawn;
        text += draw(range, most_rows_of_one, painter);
    }
    if (drawn < view.ranges.size())
        text += fmt::format("{} not drawn; their lines are below.\n\n",
                            counted(view.ranges.size() - drawn, "more range is", "more ranges are"));
    return text + legend(painter) + lines(view) + (view.note ? "\n" + to_text(view.note) : "");
}

bool wants_colour()
{
    const char* const no_colour = std::getenv("NO_COLOR");
    const char* const terminal = std::getenv("TERM");
    return isatty(STDOUT_FILENO) == 1 && (no_colour == nullptr || *no_colour == '\0') &&
           (terminal == nullptr || std::string_view{terminal} != "dumb");
}

} // namespace mrz::app
