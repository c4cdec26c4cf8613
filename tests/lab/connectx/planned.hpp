// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! What was planned for a region, written for who looks at the device from another machine.
#pragma once

#include <mrzone/region.hpp>

#include <nlohmann/json.hpp>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <thread>
#include <utility>

namespace mrz::test {

//! The translations that a direct key over memory with this layout needs: where its pages begin.
inline nlohmann::json pages_of(const Layout& layout, PageShift shift)
{
    nlohmann::json pages = nlohmann::json::array();
    const std::uint64_t page = shift.bytes();
    for (const Extent& extent : layout.extents()) {
        const std::uint64_t end = extent.dma.value() + extent.length;
        for (std::uint64_t at = extent.dma.value() / page * page; at < end; at += page) {
            // A page may hold the end of one extent and the begin of the next.
            if (pages.empty() || pages.back() != at)
                pages.push_back(at);
        }
    }
    return pages;
}

//! A direct key of a plan over memory with this layout.
inline nlohmann::json planned_key(const PlannedKey& key, const Layout& layout)
{
    return {{"start", key.iova.value()},
            {"bytes", key.length},
            {"page_shift", key.page_shift.value()},
            {"entries", key.entries},
            {"pages", pages_of(layout.part(key.offset, key.length), key.page_shift)}};
}

inline Layout layout_of(const Region& region)
{
    auto layout = read_layout(region.bytes(), DmaView::frames);
    if (!layout)
        throw std::runtime_error{"frames cannot be read"};
    return *std::move(layout);
}

//! Writes what was planned to the file "planned" of a folder, and waits for the file "seen" there.
inline void show(const nlohmann::json& planned, const std::filesystem::path& folder)
{
    std::ofstream{folder / "planned"} << planned;
    std::cerr << "registered" << std::endl;
    // Who looks is on another machine, which can tell it by a file only. mrz-vm's time limit ends it all.
    while (!std::filesystem::exists(folder / "seen"))
        std::this_thread::sleep_for(std::chrono::milliseconds{100});
}

} // namespace mrz::test
