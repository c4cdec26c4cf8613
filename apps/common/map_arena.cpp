// SPDX-License-Identifier: BSD-3-Clause
#include "map_arena.hpp"

#include "signals.hpp"

#include <mrzone/host.hpp>
#include <mrzone/hugepage.hpp>
#include <mrzone/zone.hpp>

namespace mrz::app {
namespace {

// One frame a page, of those that a window has for each 2 MiB of a part of it.
std::vector<DmaAddress> each_page(std::span<const DmaAddress> frames, std::size_t page_size)
{
    std::vector<DmaAddress> pages;
    for (std::size_t i = 0; i < frames.size(); i += page_size / Window::header_size)
        pages.push_back(frames[i]);
    return pages;
}

void add_window(std::vector<PageRange>& ranges, const Window& window)
{
    const bool known = window.frames_known();
    const auto address = reinterpret_cast<std::uintptr_t>(window.address());
    const std::size_t page_size = window.map().page_size;
    ranges.push_back(
        {.name = "the header page, which has a key of its own",
         .address = address,
         .page_size = Window::header_size,
         .pages = 1,
         .frames = known ? each_page(window.frames().first(1), Window::header_size) : std::vector<DmaAddress>{}});
    ranges.push_back(
        {.name = "the block",
         .address = address + Window::header_size,
         .page_size = page_size,
         .pages = window.block().size() / page_size,
         .mappings = window.map().pieces.size(),
         .frames = known ? each_page(window.frames().subspan(1), page_size) : std::vector<DmaAddress>{}});
}

} // namespace

std::vector<PageRange> ranges_of(const Arena& arena)
{
    std::vector<PageRange> ranges;
    for (const Window& window : arena.windows())
        add_window(ranges, window);
    return ranges;
}

MapView view_of(std::string title, std::vector<PageRange> ranges)
{
    const Limits limits{.max_page_shift = host::max_registration_shift()};
    MapView view{.title = std::move(title), .ranges = {}, .note = {}};
    bool hidden = false;
    for (PageRange& range : ranges) {
        throw_if_interrupted();
        view.ranges.push_back(view_range(std::move(range), limits));
        hidden = hidden || view.ranges.back().hidden;
    }
    if (!view.ranges.empty())
        view.note = frames_note(hidden);
    return view;
}

} // namespace mrz::app
