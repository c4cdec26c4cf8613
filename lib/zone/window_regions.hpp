// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! A window's keys.
#pragma once

#include <mrzone/hugepage.hpp>
#include <mrzone/plan.hpp>
#include <mrzone/region.hpp>

#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace mrz {

//! The regions of one window in each of some domains, in their order. A key over header page and block together would
//! have pages as small as the header, since that lies anywhere.
struct WindowRegions {
    std::vector<Region> headers;
    std::vector<Region> blocks;

    //! That of the domain with this number which holds \p memory whole; null if none does.
    [[nodiscard]] const Region* find(std::size_t domain, std::span<const std::byte> memory) const noexcept;
    [[nodiscard]] RegisterPhases phases() const noexcept;
    //! Adds those of the domain with this number.
    void count(std::size_t domain, TierSnapshot& sum) const noexcept;
};

//! Throws Error (locked_memory, ENOMEM) if the process may surely not pin a window with a block of so many bytes:
//! before its pages are taken, which is slow. \p what says what was asked for.
void check_may_pin(std::size_t block, std::string what);

//! Registers \p window for local write. Its pages are pinned from then on, so it reads their frames again.
//! Throws Error as Domain::register_memory(), and then nothing is registered.
WindowRegions register_window(Window& window, std::span<const Domain> domains);

//! What all of these devices allow of indirect keys and of the entries of a key, with the largest page that the
//! kernel stands: a window is placed for page sizes that its devices may lack, since others may register it as well.
Limits limits_for(std::span<const Domain> domains);

} // namespace mrz
