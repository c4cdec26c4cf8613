// SPDX-License-Identifier: BSD-3-Clause
#include "map_look.hpp"

#include "arena_pages.hpp"
#include "map_ranges.hpp"

#include "common/eal.hpp"
#include "common/progress.hpp"
#include "common/signals.hpp"

#include <mrzone/frames.hpp>
#include <mrzone/host.hpp>
#include <mrzone/hugepage.hpp>
#include <mrzone/zone.hpp>

#include <cerrno>
#include <csignal>

namespace mrz::app {
namespace {

bool translating()
{
    return host::iommu() == host::Iommu::translating;
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
        view.note = frames_note(hidden, translating());
    return view;
}

std::vector<host::MappedMemory> mappings_of(pid_t pid)
{
    const auto mappings = host::hugepage_mappings(pid);
    if (::kill(pid, 0) != 0 && errno == ESRCH)
        throw Error{ESRCH, Cause{.trouble = Trouble::invalid,
                                 .what = fmt::format("the hugepages of process {}", pid),
                                 .limit = "there is no such process",
                                 .remedy = "give the number of a process that runs; see: ps -e"}};
    if (!mappings)
        throw Error{EACCES, Cause{.trouble = Trouble::permission,
                                  .what = fmt::format("the hugepages of process {}", pid),
                                  .limit = fmt::format("/proc/{}/smaps may not be read by this user", pid),
                                  .remedy = "run it as root (sudo), or as that process's user"}};
    return *mappings;
}

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

MapView look_at_process(pid_t pid)
{
    std::vector<PageRange> ranges = join_mappings(mappings_of(pid));
    for (PageRange& range : ranges) {
        throw_if_interrupted();
        range.frames = read_frames_of(pid, range.address, range.length(), PageShift::of(range.page_size)).addresses;
    }
    std::string name = host::Root{}.text(fmt::format("/proc/{}/comm", pid)).value_or("");
    if (name.ends_with('\n'))
        name.pop_back();
    return view_of(fmt::format("process {} ({})", pid, printable(name)), std::move(ranges));
}

MapView look_at_arena(const std::string& size, std::size_t page_size)
{
    const ArenaPages pages = reserve_for_arena(size, page_size, "mrz map");
    const Eal eal;
    throw_if_interrupted();
    const Arena arena = [&] {
        ProgressBar bar{"zeroing pages"};
        return Arena::build("mrz_map", {.size = pages.size,
                                        .page_size = page_size,
                                        .surplus = surplus_for(pages.size, page_size),
                                        .progress = [&bar](const BuildProgress& progress) {
                                            throw_if_interrupted();
                                            bar.update(progress.taken, progress.wanted);
                                        }});
    }();
    std::vector<PageRange> ranges;
    for (const Window& window : arena.windows())
        add_window(ranges, window);
    return view_of("an arena of " + format_size(pages.size), std::move(ranges));
}

} // namespace mrz::app
