// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! What a window owns, and how it is given back.
#pragma once

#include "page_files.hpp"
#include "reservation.hpp"

#include <mrzone/hugepage.hpp>

#include <memory>
#include <span>
#include <vector>

#include <sys/types.h>

namespace mrz::hugepage {

struct WindowMemory {
    WindowMemory() = default;
    WindowMemory(const WindowMemory&) = delete;
    WindowMemory& operator=(const WindowMemory&) = delete;
    //! Unmaps, and where the pages are this process's own, gives them back in the order of `give_back`.
    ~WindowMemory();

    AddressRange range;
    std::vector<FileDescriptor> files;
    //! Empty for a window of another process, which keeps its pages.
    std::vector<PageAt> give_back;
    //! A child made by fork has the files too, but must not take the pages from under its parent.
    pid_t owner = 0;

    WindowMap map;
    bool frames_known = false;
    Layout layout;
    std::vector<DmaAddress> frames; //!< One for each 2 MiB.
    BuildPhases phases;
};

//! Sets layout, frames and whether they are known, from the frames of header and block; empty ones if unknown.
void describe(WindowMemory& memory, std::span<const DmaAddress> header, std::span<const DmaAddress> block);

//! The frames of a window that is mapped and populated, as the process may see them.
struct WindowFrames {
    Frames header;
    Frames block;
    [[nodiscard]] bool known() const noexcept { return header.complete() && block.complete(); }
};
WindowFrames frames_of_mapped(const WindowMap& map);

} // namespace mrz::hugepage

namespace mrz {

struct Window::State final : hugepage::WindowMemory {
    bool abandoned = false;
    std::unique_ptr<State> next; //!< Among the abandoned ones.
};

} // namespace mrz
