// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! What mrz map looks at.
#pragma once

#include "map_view.hpp"

#include <cstddef>
#include <string>
#include <sys/types.h>
#include <vector>

#include <mrzone/host.hpp>

namespace mrz::app {

//! Joins mappings that lie side by side and have pages of one size: DPDK has one a page, and an arena one wherever
//! its pages are not as its files have them. An arena's header page, which has a key of its own, stays alone. Without
//! frames.
std::vector<PageRange> join_mappings(const std::vector<host::MappedMemory>& mappings);

//! Throws Error: invalid (ESRCH) if there is no such process; permission (EACCES).
MapView look_at_process(pid_t pid);
//! Builds an arena and gives it back; needs no EAL to run before. \p size as reserve_for_arena(). Throws as that, as
//! Eal and Arena::build().
MapView look_at_arena(const std::string& size, std::size_t page_size);

} // namespace mrz::app
