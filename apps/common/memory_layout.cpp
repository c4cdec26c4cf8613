// SPDX-License-Identifier: BSD-3-Clause
#include "memory_layout.hpp"

#include <mrzone/frames.hpp>

namespace mrz::app {

MemoryLayout layout_of(std::span<const std::byte> memory, std::size_t page_size)
{
    const PageShift page = PageShift::of(page_size);
    const Frames frames = read_frames(memory.data(), memory.size(), page);
    if (frames.complete())
        return {.frames_known = true, .layout = Layout::of_pages(frames.addresses, page)};
    return {.frames_known = false, .layout = Layout::worst_case(page, memory.size() / page_size)};
}

} // namespace mrz::app
