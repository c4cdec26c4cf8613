// SPDX-License-Identifier: BSD-3-Clause
#include "map_look.hpp"

#include "map_ranges.hpp"

#include "common/arena_pages.hpp"
#include "common/eal.hpp"
#include "common/map_arena.hpp"
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
    return view_of("an arena of " + format_size(pages.size), ranges_of(arena));
}

} // namespace mrz::app
