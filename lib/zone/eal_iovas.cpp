// SPDX-License-Identifier: BSD-3-Clause
#include "eal_iovas.hpp"

#include <rte_config.h>
#include <rte_eal.h>

namespace mrz {

std::vector<std::uint64_t> eal_iovas(const Window& window)
{
    std::vector<std::uint64_t> iovas;
    const std::size_t pages = window.length() / Window::header_size;
    iovas.reserve(pages);
    if (rte_eal_iova_mode() == RTE_IOVA_VA) {
        const auto start = reinterpret_cast<std::uintptr_t>(window.address());
        for (std::size_t page = 0; page < pages; ++page)
            iovas.push_back(start + page * Window::header_size);
    } else {
        for (const DmaAddress frame : window.frames())
            iovas.push_back(frame.value());
    }
    return iovas;
}

std::vector<EalRange> eal_ranges(const Window& window)
{
    std::vector<EalRange> ranges;
    std::byte* address = window.address();
    for (const std::uint64_t iova : eal_iovas(window)) {
        if (!ranges.empty() && ranges.back().iova + ranges.back().length == iova)
            ranges.back().length += Window::header_size;
        else
            ranges.push_back({.address = address, .iova = iova, .length = Window::header_size});
        address += Window::header_size;
    }
    return ranges;
}

} // namespace mrz
