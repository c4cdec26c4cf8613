// SPDX-License-Identifier: BSD-3-Clause
#include <mrzone/device.hpp>

#include <mrzone/frames.hpp>
#include <mrzone/host.hpp>

#include <algorithm>
#include <cerrno>
#include <utility>

#include <unistd.h>

namespace mrz {
namespace {

struct Range {
    std::uint64_t begin;
    std::uint64_t end; // one past the last byte
};

[[noreturn]] void refuse(int error, const Range& range, std::string limit, std::string remedy)
{
    throw Error{error,
                {.trouble = Trouble::invalid,
                 .what = "using " + format_size(range.end - range.begin) + " of memory at " + format_hex(range.begin),
                 .limit = std::move(limit),
                 .remedy = std::move(remedy)}};
}

// Neighbours of one page size.
struct Stretch {
    Range range;
    std::size_t page_size;
};

//! \p mapped are the mappings around it, in order.
std::vector<Stretch> stretches_of(const Range& range, const std::optional<std::vector<host::MappedMemory>>& mapped)
{
    const auto base_page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    if (!mapped) // nothing is known: the frames will tell whether it is there
        return {{range, base_page}};
    std::vector<Stretch> stretches;
    std::uint64_t reached = range.begin;
    for (auto at = std::ranges::upper_bound(*mapped, range.begin, {}, &host::MappedMemory::end);
         at != mapped->end() && at->begin <= reached && reached < range.end; ++at) {
        const host::MappedMemory& mapping = *at;
        const std::uint64_t end = std::min(mapping.end, range.end);
        if (!stretches.empty() && stretches.back().page_size == mapping.page_size)
            stretches.back().range.end = end;
        else
            stretches.push_back({{reached, end}, mapping.page_size});
        reached = end;
    }
    if (reached < range.end)
        refuse(EFAULT, range, "nothing is mapped at " + format_hex(reached), "map memory there first");
    return stretches;
}

// False if frames are hidden.
bool append_frames(Layout& layout, const Stretch& stretch, const Range& whole)
{
    const PageShift page = PageShift::of(stretch.page_size);
    const std::uint64_t first = stretch.range.begin / page.bytes() * page.bytes();
    const std::uint64_t pages = (stretch.range.end - first + page.bytes() - 1) >> page.value();
    const Frames frames = read_frames(reinterpret_cast<const void*>(first), pages << page.value(), page);
    if (frames.absent_pages > 0) // before hidden: a page that is away has no address for anybody
        refuse(EFAULT, whole,
               std::to_string(frames.absent_pages) + " pages of " + format_size(page.bytes()) + " are not present",
               "touch the memory first (MADV_POPULATE_WRITE)");
    if (frames.hidden)
        return false;
    std::uint64_t at = stretch.range.begin;
    for (std::size_t i = 0; at < stretch.range.end; ++i) {
        const std::uint64_t page_at = first + (static_cast<std::uint64_t>(i) << page.value());
        const std::uint64_t end = std::min(page_at + page.bytes(), stretch.range.end);
        layout.append(frames.addresses[i] + (at - page_at), end - at);
        at = end;
    }
    return true;
}

// Pages in ascending order that are a page's length apart, from an address on that is no multiple of two pages if the
// virtual one is, and the other way round.
void append_pages(Layout& layout, const Stretch& stretch)
{
    const std::uint64_t page = stretch.page_size;
    DmaAddress next{layout.extents().empty() ? 0
                                             : layout.extents().back().dma.value() + layout.extents().back().length};
    for (std::uint64_t at = stretch.range.begin; at < stretch.range.end;) {
        const std::uint64_t first = at / page * page;
        const std::uint64_t end = std::min(first + page, stretch.range.end);
        // Past what is taken, with a page free in between.
        std::uint64_t frame = (next.value() / page + 2) * page;
        if ((frame & page) == (first & page))
            frame += page;
        layout.append(DmaAddress{frame + (at - first)}, end - at);
        next = DmaAddress{frame + page};
        at = end;
    }
}

//! Throws Error for a range that is none.
Range range_of(std::span<const std::byte> memory)
{
    const auto begin = reinterpret_cast<std::uintptr_t>(memory.data());
    const Range range{begin, begin + memory.size()};
    if (memory.empty() || range.end < begin)
        refuse(EINVAL, range, memory.empty() ? "it has no bytes" : "it wraps around the address space",
               "name a range of memory that is there");
    return range;
}

} // namespace

std::optional<Layout> read_layout(std::span<const std::byte> memory, DmaView view)
{
    auto layouts = read_layouts({&memory, 1}, view);
    return layouts ? std::optional{std::move(layouts->front())} : std::nullopt;
}

std::optional<std::vector<Layout>> read_layouts(std::span<const std::span<const std::byte>> memories, DmaView view)
{
    std::vector<Layout> layouts;
    if (memories.empty())
        return layouts;
    layouts.reserve(memories.size());
    for (const auto& memory : memories)
        static_cast<void>(range_of(memory));
    const auto mapped = host::mapped_memory_around(memories);
    for (const auto& memory : memories) {
        const Range range = range_of(memory);
        const std::vector<Stretch> stretches = stretches_of(range, mapped);
        Layout& layout = layouts.emplace_back();
        if (view == DmaView::virtual_addresses) {
            layout.append(DmaAddress{range.begin}, memory.size());
            continue;
        }
        for (const Stretch& stretch : stretches) {
            if (view == DmaView::unknown)
                append_pages(layout, stretch);
            else if (!append_frames(layout, stretch, range))
                return std::nullopt;
        }
    }
    return layouts;
}

} // namespace mrz
