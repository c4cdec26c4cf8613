// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! How memory of this process lies.
#pragma once

#include <mrzone/plan.hpp>

#include <cstddef>
#include <span>

namespace mrz::app {

//! Where memory is, as far as this process may see it.
struct MemoryLayout {
    bool frames_known = false;
    Layout layout; //!< The worst there may be, where frames are hidden.
};
//! \p memory is whole pages, all touched. Throws Error as read_frames().
MemoryLayout layout_of(std::span<const std::byte> memory, std::size_t page_size);

} // namespace mrz::app
