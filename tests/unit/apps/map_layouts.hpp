// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Made-up ranges of 2-MiB pages.
#pragma once

#include "common/map_view.hpp"

#include <mrzone/frames.hpp>

#include <cstdint>
#include <vector>

namespace mrz::app {

inline constexpr std::uint64_t not_there = Frames::absent.value();

inline PageRange pages_at(std::uint64_t address, const std::vector<std::uint64_t>& frames)
{
    PageRange range{.name = "/a file", .address = address, .page_size = 2_MiB, .pages = frames.size()};
    for (const std::uint64_t frame : frames)
        range.frames.emplace_back(frame);
    return range;
}

inline PageRange one_extent(std::uint64_t address, std::uint64_t dma, std::size_t pages)
{
    std::vector<std::uint64_t> frames;
    for (std::size_t i = 0; i < pages; ++i)
        frames.push_back(dma + i * 2_MiB);
    return pages_at(address, frames);
}

inline PageRange hidden_pages(std::uint64_t address, std::size_t pages)
{
    return {.name = "/a file", .address = address, .page_size = 2_MiB, .pages = pages};
}

} // namespace mrz::app
