// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Pages for an arena that a program builds for a while.
#pragma once

#include "temporary_pool.hpp"

#include <mrzone/hugepage.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace mrz::app {

//! Pages reserved for as long as the program needs them.
struct ArenaPages {
    std::size_t size = 0;
    TemporaryPool small; //!< 2-MiB pages for the arena's header and the EAL, where the block's pages are larger.
    TemporaryPool main;
};

//! Pages for an arena of \p size, and where they can be had as many again, and what an arena looks at in any case,
//! which give the placement a choice. Throws Error: hugepages, permission, cgroup; Interrupted.
ArenaPages reserve_for_arena(std::size_t size, std::size_t page_size, std::optional<int> node = {});

//! The same for a size in words; for none 1 GiB, or the largest half of it, a quarter, and so on that the machine can
//! spare. \p command, "mrz demo", is what a remedy proposes. Throws Error: invalid, and as above.
ArenaPages reserve_for_arena(const std::string& size, std::size_t page_size, std::string_view command);

//! Pages that a memory of \p size needs beyond itself: the header page, what the EAL takes, and DPDK's own headers.
std::uint64_t overhead_pages(std::size_t page_size);

//! How far an arena may look (ArenaOptions::surplus): at all pages that nobody else has a claim on, but at no
//! more than four times what it needs, since each look zeroes a page.
Surplus surplus_for(std::size_t size, std::size_t page_size, std::optional<int> node = {});

} // namespace mrz::app
