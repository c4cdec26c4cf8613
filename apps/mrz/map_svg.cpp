// SPDX-License-Identifier: BSD-3-Clause
#include "map_svg.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace mrz::app {
namespace {

// Pixels.
constexpr double cell = 12;
constexpr double row_height = 18;
constexpr double row_step = 26;
constexpr double left = 150;
constexpr double right = 290;
constexpr double picture_width = cell * pages_a_row;
constexpr double width = left + picture_width + right;
constexpr double gap = 4; // where memory breaks
constexpr double plot_height = 150;
constexpr double line_height = 20;

// Rows of one range; beyond, the plot below them must do. And ranges that are drawn at all.
constexpr std::size_t most_rows = 64;
constexpr std::size_t most_ranges = 32;
// A plot of one page says nothing.
constexpr std::size_t fewest_plotted_pages = 2;

// From bad to good, told apart by people who do not see red and green as different, too: by lightness.
constexpr std::array<std::string_view, 4> colours{"#e8743b", "#f0b429", "#4aa3df", "#1b6b50"};
constexpr std::array<std::string_view, 4> classes{"extents below 8 MiB", "below 64 MiB", "below 1 GiB",
                                                  "1 GiB and longer"};

constexpr std::string_view style = R"(
  text { font: 13px system-ui, "DejaVu Sans", sans-serif; fill: #24292f }
  .title { font-size: 20px; font-weight: 600 }
  .range { font-size: 15px; font-weight: 600 }
  .mono { font-family: ui-monospace, "DejaVu Sans Mono", monospace; font-size: 12px }
  .faint { fill: #6e7781 }
  .break { stroke: #b0102c; stroke-width: 1.6 }
  .limit { fill: none; stroke: #b0102c; stroke-width: 2.4 }
  .limits { fill: #b0102c; font-weight: 600 }
  .absent { fill: #fff; stroke: #b6bec7; stroke-dasharray: 2 2 }
  .hidden { fill: #c3cad2 }
  .axis { stroke: #d0d7de; fill: #f6f8fa }
)";

std::string escape(std::string_view text)
{
    std::string safe;
    for (const char c : printable(text))
        switch (c) {
        case '&':
            safe += "&amp;";
            break;
        case '<':
            safe += "&lt;";
            break;
        case '>':
            safe += "&gt;";
            break;
        case '"':
            safe += "&quot;";
            break;
        default:
            safe += c;
        }
    return safe;
}

//! Things drawn from top to bottom.
class Drawing {
  public:
    [[nodiscard]] double top() const noexcept { return top_; }
    void down(double by) noexcept { top_ += by; }

    void text(double x, double y, std::string_view style_class, std::string_view content,
              std::string_view anchor = "start")
    {
        body_ += fmt::format(R"(<text x="{:.1f}" y="{:.1f}" class="{}" text-anchor="{}">{}</text>)", x, y,
                             style_class, anchor, escape(content));
        body_ += '\n';
    }
    //! Something without text. \p element holds nothing from outside.
    void add(std::string_view element)
    {
        body_ += element;
        body_ += '\n';
    }
    [[nodiscard]] std::string document() const
    {
        return fmt::format(R"(<?xml version="1.0" encoding="UTF-8"?>
<svg xmlns="http://www.w3.org/2000/svg" width="{0:.0f}" height="{1:.0f}" viewBox="0 0 {0:.0f} {1:.0f}">
<style>{2}</style>
<defs><pattern id="pages" x="{3:.0f}" width="{4:.0f}" height="100" patternUnits="userSpaceOnUse"><path d="M0 0V100" stroke="#fff" stroke-opacity="0.55" stroke-width="1.4"/></pattern></defs>
<rect width="100%" height="100%" fill="#fff"/>
{5}</svg>
)",
                           width, top_ + 10, style, left, cell, body_);
    }

  private:
    double top_ = 0;
    std::string body_;
};

std::string_view colour_of(const RangeView& view, const PageRun& run)
{
    return colours[extent_class(run.pages * view.range.page_size)];
}

void draw_legend(Drawing& drawing)
{
    double x = left;
    const double y = drawing.top();
    for (std::size_t i = 0; i < colours.size(); ++i) {
        drawing.add(fmt::format(R"(<rect x="{:.1f}" y="{:.1f}" width="22" height="12" rx="2" fill="{}"/>)", x, y - 11,
                                colours[i]));
        drawing.text(x + 28, y, "", classes[i]);
        x += i == 0 ? 180 : 140;
    }
    drawing.add(fmt::format(R"(<path class="break" d="M{0:.1f} {1:.1f}V{2:.1f}"/>)", x + 14, y - 15, y + 3));
    drawing.text(x + 24, y, "", "memory breaks");
    drawing.add(
        fmt::format(R"(<rect class="limit" x="{:.1f}" y="{:.1f}" width="12" height="14"/>)", x + 142, y - 12));
    drawing.text(x + 162, y, "", "what limits one key");
    drawing.down(line_height * 1.7);
}

void draw_piece(Drawing& drawing, const RangeView& view, const RowPiece& piece, double x)
{
    const PageRun& run = view.runs[piece.run];
    const double y = drawing.top();
    const double begin = x + (piece.after_break ? gap / 2 : 0.0);
    const double length = static_cast<double>(piece.pages) * cell - (begin - x) - gap / 4;
    const auto box = [&](std::string_view look) {
        drawing.add(fmt::format(R"(<rect x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}" rx="2" {}/>)", begin, y,
                                length, row_height, look));
    };
    switch (run.kind) {
    case PageRun::Kind::absent:
        box(R"(class="absent")");
        return;
    case PageRun::Kind::hidden:
        box(R"(class="hidden")");
        break;
    case PageRun::Kind::extent:
        box(fmt::format(R"(fill="{}")", colour_of(view, run)));
        break;
    }
    if (piece.pages > 1)
        box(R"look(fill="url(#pages)")look");
    if (piece.after_break)
        drawing.add(fmt::format(R"(<path class="break" d="M{:.1f} {:.1f}V{:.1f}"/>)", x, y - 4, y + row_height + 2));
}

void draw_row(Drawing& drawing, const RangeView& view, const Row& row)
{
    const double y = drawing.top();
    const double baseline = y + row_height - 5;
    drawing.text(left - 12, baseline, "mono faint", format_hex(row.address), "end");
    double x = left + static_cast<double>(row.lead) * cell;
    const auto limit = view.limiting_page();
    std::optional<double> limit_at;
    for (const RowPiece& piece : row.pieces) {
        draw_piece(drawing, view, piece, x);
        if (limit && piece.first <= *limit && *limit < piece.first + piece.pages)
            limit_at = x + static_cast<double>(*limit - piece.first) * cell;
        x += static_cast<double>(piece.pages) * cell;
    }
    std::string remark;
    if (const RowPiece& first = row.pieces.front(); view.runs[first.run].kind == PageRun::Kind::extent) {
        const PageRun& run = view.runs[first.run];
        remark = format_hex(run.dma.value() + (first.first - run.first) * view.range.page_size);
    }
    if (const std::size_t breaks = row.breaks(); breaks > 0)
        remark += fmt::format("{}{}", remark.empty() ? "" : ", ", counted(breaks, "break", "breaks"));
    const double beside = left + picture_width + 12;
    drawing.text(beside, baseline, "mono faint", remark);
    if (limit_at) {
        drawing.add(
            fmt::format(R"(<rect class="limit" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}" rx="2"/>)",
                        *limit_at - 1, y - 2, cell + 1, row_height + 4));
        drawing.text(beside + 7.3 * static_cast<double>(remark.size()) + 10, baseline, "mono limits",
                     fmt::format("limits: bit {}", view.plan->limit.bit));
    }
    drawing.down(row_step);
    if (row.stands_for > 1) {
        drawing.text(left, drawing.top() + 8, "faint",
                     fmt::format("and {} of the same extent", counted(row.stands_for - 1, "more row", "more rows")));
        drawing.down(row_step - 6);
    }
}

void draw_rows(Drawing& drawing, const RangeView& view)
{
    const std::vector<Row> rows = rows_of(view);
    const std::size_t shown = std::min(rows.size(), most_rows);
    for (std::size_t i = 0; i < shown; ++i)
        draw_row(drawing, view, rows[i]);
    if (shown == rows.size())
        return;
    std::size_t hidden = 0;
    std::size_t breaks = 0;
    for (std::size_t i = shown; i < rows.size(); ++i) {
        hidden += rows[i].stands_for;
        breaks += rows[i].breaks();
    }
    drawing.text(
        left, drawing.top() + 8, "faint",
        fmt::format("and {}, with {}", counted(hidden, "more row", "more rows"), counted(breaks, "break", "breaks")));
    drawing.down(row_step);
}

void draw_plot(Drawing& drawing, const RangeView& view)
{
    std::uint64_t lowest = ~std::uint64_t{0};
    std::uint64_t highest = 0;
    for (const PageRun& run : view.runs)
        if (run.kind == PageRun::Kind::extent) {
            lowest = std::min(lowest, run.dma.value());
            highest = std::max(highest, run.dma.value() + run.pages * view.range.page_size);
        }
    if (view.extents == 0 || view.range.pages < fewest_plotted_pages)
        return;
    constexpr double margin = 5;
    const double y = drawing.top() + 4;
    const double bottom = y + plot_height - margin;
    const double a_page = picture_width / static_cast<double>(view.range.pages);
    const double a_byte = (plot_height - 2 * margin) / static_cast<double>(highest - lowest);
    drawing.add(fmt::format(R"(<rect class="axis" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}"/>)", left, y,
                            picture_width, plot_height));
    for (const PageRun& run : view.runs) {
        if (run.kind != PageRun::Kind::extent)
            continue;
        const double x = left + static_cast<double>(run.first) * a_page;
        const double from = bottom - static_cast<double>(run.dma.value() - lowest) * a_byte;
        const double rise = static_cast<double>(run.pages * view.range.page_size) * a_byte;
        drawing.add(fmt::format(
            R"(<path d="M{:.2f} {:.2f}L{:.2f} {:.2f}" stroke="{}" stroke-width="3.2" stroke-linecap="round"/>)", x,
            from, x + static_cast<double>(run.pages) * a_page, from - rise, colour_of(view, run)));
    }
    drawing.text(left - 12, y + 10, "mono faint", format_hex(highest), "end");
    drawing.text(left - 12, y + plot_height / 2 + 4, "faint", "physical", "end");
    drawing.text(left - 12, y + plot_height, "mono faint", format_hex(lowest), "end");
    drawing.text(left, y + plot_height + 16, "mono faint", format_hex(view.range.address));
    drawing.text(left + picture_width / 2, y + plot_height + 16, "faint", "virtual", "middle");
    drawing.text(left + picture_width, y + plot_height + 16, "mono faint",
                 format_hex(view.range.address + view.range.length()), "end");
    drawing.down(plot_height + 34);
}

std::string sentence(const RangeView& view)
{
    const std::string guaranteed =
        fmt::format("guaranteed for one key: {} of {}", counted(view.guaranteed.mtt_entries(), "entry", "entries"),
                    format_size(view.guaranteed.keys.front().page_shift.bytes()));
    if (view.hidden)
        return "frames are hidden; " + guaranteed;
    const std::string found =
        counted(view.extents, "extent", "extents") + ", " + counted(view.breaks, "break", "breaks");
    if (!view.plan)
        return fmt::format("{}; {} not there yet; {}", found, counted(view.absent_pages, "page", "pages"),
                           guaranteed);
    return found + ";  " + view.plan->explain();
}

//! A sentence in lines that fit the picture, each of as many of its parts as there is room for.
void draw_sentence(Drawing& drawing, std::string_view parts)
{
    constexpr std::size_t longest_line = 125;
    while (!parts.empty()) {
        std::size_t end = parts.size();
        while (end > longest_line) {
            const std::size_t before = parts.rfind("; ", end - 1);
            if (before == std::string_view::npos)
                break;
            end = before;
        }
        drawing.text(left, drawing.top(), "", parts.substr(0, end));
        drawing.down(line_height * 0.8);
        parts.remove_prefix(std::min(parts.size(), end + 2));
        while (parts.starts_with(' '))
            parts.remove_prefix(1);
    }
}

void draw_range(Drawing& drawing, const RangeView& view, bool with_picture)
{
    const PageRange& range = view.range;
    drawing.text(left, drawing.top(), "range", range.description());
    drawing.text(left - 12, drawing.top(), "mono", format_hex(range.address), "end");
    drawing.down(line_height);
    draw_sentence(drawing, sentence(view));
    if (with_picture) {
        draw_rows(drawing, view);
        draw_plot(drawing, view);
    }
    drawing.down(line_height * 1.4);
}

} // namespace

std::string draw_svg(const MapView& view)
{
    Drawing drawing;
    drawing.down(36);
    drawing.text(left, drawing.top(), "title", view.headline());
    drawing.down(line_height * 1.6);
    draw_legend(drawing);
    if (view.note) {
        drawing.text(left, drawing.top(), "limits", view.note->unknown + " " + view.note->guaranteed);
        drawing.down(line_height);
        drawing.text(left, drawing.top(), "", "try: " + view.note->remedy);
        drawing.down(line_height * 1.6);
    }
    for (std::size_t i = 0; i < view.ranges.size(); ++i)
        draw_range(drawing, view.ranges[i], i < most_ranges);
    return drawing.document();
}

} // namespace mrz::app
