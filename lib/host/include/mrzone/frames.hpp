// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! The physical addresses behind memory of this process, or of another.
#pragma once

#include <mrzone/base.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

#include <sys/types.h>

namespace mrz {

//! The physical addresses behind a virtual range, one a page.
struct Frames {
    //! Stands for a page that is not present.
    static constexpr DmaAddress absent{~std::uint64_t{0}};

    std::vector<DmaAddress> addresses; //!< Empty if hidden.
    bool hidden = false;               //!< Pages are present, but this process may not see where (CAP_SYS_ADMIN).
    std::size_t absent_pages = 0;

    //! Whether every page's frame is known.
    [[nodiscard]] bool complete() const noexcept { return !hidden && absent_pages == 0; }
};
//! Reads /proc/self/pagemap, one entry a page of \p page. \p address and \p length are multiples of it.
//! Where the file may not be opened (a process that changed its user), frames are hidden.
//! Throws Error: internal (the errno of open or read); invalid (EINVAL) if address or length are no multiples.
MRZ_API Frames read_frames(const void* address, std::size_t length, PageShift page);
//! The same for memory of another process, which may change while it is read. Where that user's file may not be
//! opened by this one, frames are hidden. Throws Error as read_frames(), and invalid (ESRCH) if the process is gone.
MRZ_API Frames read_frames_of(pid_t pid, std::uint64_t address, std::size_t length, PageShift page);
//! Whether this process may see frames. Touches a page to find out.
MRZ_API bool frames_can_be_read();

} // namespace mrz
