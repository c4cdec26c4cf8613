// SPDX-License-Identifier: BSD-3-Clause
#include "map_view.hpp"

#include "common/layout_file.hpp"

#include <mrzone/frames.hpp>

#include <algorithm>
#include <map>

namespace mrz::app {
namespace {

std::vector<PageRun> runs_of(const PageRange& range)
{
    if (range.frames.empty())
        return {{.kind = PageRun::Kind::hidden, .pages = range.pages}};
    std::vector<PageRun> runs;
    for (std::size_t page = 0; page < range.pages; ++page) {
        const DmaAddress frame = range.frames[page];
        const auto kind = frame == Frames::absent ? PageRun::Kind::absent : PageRun::Kind::extent;
        const bool follows_same_kind = !runs.empty() && runs.back().kind == kind;
        if (follows_same_kind && (kind == PageRun::Kind::absent ||
                                  frame == runs.back().dma + std::uint64_t{runs.back().pages} * range.page_size))
            ++runs.back().pages;
        else
            runs.push_back({.kind = kind,
                            .first = page,
                            .pages = 1,
                            .dma = frame,
                            .after_break = follows_same_kind && kind == PageRun::Kind::extent});
    }
    return runs;
}

std::uint64_t entries_apart(const RangeView& view, const Limits& limits)
{
    std::uint64_t entries = 0;
    for (const PageRun& run : view.runs) {
        Layout extent;
        extent.append(run.dma, run.pages * view.range.page_size);
        entries += make_plan(extent, {}, limits).mtt_entries();
    }
    return entries;
}

Json extents_to_json(const RangeView& view)
{
    Json list = Json::array();
    for (const PageRun& run : view.runs)
        list.push_back(
            {{"dma", run.kind == PageRun::Kind::extent ? Json(format_hex(run.dma.value())) : Json(nullptr)},
             {"length", run.pages * view.range.page_size}});
    return list;
}

Json to_json(const RangeView& view)
{
    const bool whole = view.plan.has_value();
    return {{"address", format_hex(view.range.address)},
            {"length", view.range.length()},
            {"page_size", view.range.page_size},
            {"name", view.range.name},
            {"mappings", view.range.mappings},
            {"frames_known", !view.hidden},
            {"absent_pages", view.absent_pages},
            {"breaks", view.hidden ? Json(nullptr) : Json(view.breaks)},
            {"extents", view.hidden ? Json(nullptr) : extents_to_json(view)},
            {"plan", whole ? plan_to_json(*view.plan) : Json(nullptr)},
            {"entries_apart", whole ? Json(view.entries_apart) : Json(nullptr)},
            {"guaranteed", plan_to_json(view.guaranteed)}};
}

} // namespace

RangeView view_range(PageRange range, const Limits& limits)
{
    const PageShift page = PageShift::of(range.page_size);
    RangeView view{.range = std::move(range),
                   .runs = {},
                   .guaranteed = make_plan(Layout::worst_case(page, range.pages), {}, limits)};
    view.runs = runs_of(view.range);
    for (const PageRun& run : view.runs) {
        view.hidden = view.hidden || run.kind == PageRun::Kind::hidden;
        view.absent_pages += run.kind == PageRun::Kind::absent ? run.pages : 0;
        view.extents += run.kind == PageRun::Kind::extent ? 1 : 0;
        view.breaks += run.after_break ? 1 : 0;
    }
    if (!view.hidden && view.absent_pages == 0) {
        view.plan = make_plan(Layout::of_pages(view.range.frames, page), Iova{view.range.address}, limits);
        view.entries_apart = entries_apart(view, limits);
    }
    return view;
}

std::string PageRange::description() const
{
    return fmt::format("{} in {} of {}{}{}", format_size(length()), counted(pages, "page", "pages"),
                       format_size(page_size), name.empty() ? "" : ", " + printable(name),
                       mappings > 1 ? fmt::format(" ({} mappings)", mappings) : "");
}

std::optional<std::size_t> RangeView::limiting_page() const
{
    if (!plan || plan->mtt_entries() == 1 || plan->limit.term == LimitTerm::length ||
        plan->limit.term == LimitTerm::device)
        return std::nullopt;
    return (plan->limit.at - Iova{range.address}) / range.page_size;
}

std::string MapView::headline() const
{
    std::map<std::size_t, std::size_t> pages;
    for (const RangeView& view : ranges)
        pages[view.range.page_size] += view.range.pages;
    if (pages.empty())
        return fmt::format("Hugepages of {}: none", title);
    std::string text = fmt::format("Hugepages of {}: {}", title, counted(ranges.size(), "range", "ranges"));
    for (const auto& [size, count] : pages)
        text += fmt::format(", {} in {} of {}", format_size(size * count), counted(count, "page", "pages"),
                            format_size(size));
    return text;
}

std::size_t Row::breaks() const noexcept
{
    return static_cast<std::size_t>(
        std::count_if(pieces.begin(), pieces.end(), [](const RowPiece& piece) { return piece.after_break; }));
}

std::vector<Row> rows_of(const RangeView& view)
{
    const std::uint64_t page_size = view.range.page_size;
    const std::size_t begin = view.range.address / page_size % pages_a_row; // the first page's place in its row
    std::vector<Row> rows;
    for (std::size_t run = 0; run < view.runs.size(); ++run) {
        const PageRun& all = view.runs[run];
        for (std::size_t done = 0; done < all.pages;) {
            const std::size_t page = all.first + done;
            const std::size_t place = (begin + page) % pages_a_row;
            if (place == 0 || rows.empty())
                rows.push_back({.address = view.range.address + page * page_size - place * page_size,
                                .lead = rows.empty() ? place : 0,
                                .pieces = {}});
            const std::size_t pages = std::min(pages_a_row - place, all.pages - done);
            rows.back().pieces.push_back(
                {.run = run, .first = page, .pages = pages, .after_break = done == 0 && all.after_break});
            done += pages;
            // What follows in the same run looks the same.
            if (const std::size_t same = (all.pages - done) / pages_a_row; pages == pages_a_row && same > 0) {
                rows.back().stands_for += same;
                done += same * pages_a_row;
            }
        }
    }
    return rows;
}

unsigned extent_class(std::size_t length)
{
    return length < 8_MiB ? 0 : length < 64_MiB ? 1 : length < 1_GiB ? 2 : 3;
}

std::string counted(std::uint64_t count, std::string_view one, std::string_view many)
{
    return fmt::format("{} {}", count, count == 1 ? one : many);
}

Json to_json(const MapView& view)
{
    Json ranges = Json::array();
    for (const RangeView& range : view.ranges)
        ranges.push_back(to_json(range));
    return {{"schema", json_schema},
            {"title", view.title},
            {"ranges", std::move(ranges)},
            {"unknown", to_json(view.note)}};
}

} // namespace mrz::app
