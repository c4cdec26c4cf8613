// SPDX-License-Identifier: BSD-3-Clause
#include "window_memory.hpp"

#include <cerrno>

#include <unistd.h>

namespace mrz::hugepage {

WindowMemory::~WindowMemory()
{
    range = {};
    if (owner == ::getpid())
        for (const PageAt& page : give_back)
            punch(files[page.file].get(), page);
}

void describe(WindowMemory& memory, std::span<const DmaAddress> header, std::span<const DmaAddress> block)
{
    const PageShift page = PageShift::of(memory.map.page_size);
    const std::size_t parts = memory.map.page_size / Window::header_size;
    memory.frames_known = !block.empty();
    memory.frames.clear();
    if (!memory.frames_known) {
        memory.layout =
            Layout::worst_case(page, (memory.map.length - memory.map.header_length) / memory.map.page_size);
        return;
    }
    memory.layout = Layout::of_pages(block, page);
    memory.frames.reserve(header.size() + block.size() * parts);
    memory.frames.assign(header.begin(), header.end());
    for (const DmaAddress frame : block)
        for (std::size_t part = 0; part < parts; ++part)
            memory.frames.push_back(frame + part * Window::header_size);
}

WindowFrames frames_of_mapped(const WindowMap& map)
{
    const auto* const address = reinterpret_cast<const std::byte*>(map.address);
    return {.header = read_frames(address, map.header_length, PageShift::of(Window::header_size)),
            .block = read_frames(address + map.header_length, map.length - map.header_length,
                                 PageShift::of(map.page_size))};
}

} // namespace mrz::hugepage
