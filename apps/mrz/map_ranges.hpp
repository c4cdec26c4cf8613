// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! A process's mappings as ranges. No I/O.
#pragma once

#include "common/map_view.hpp"

#include <mrzone/host.hpp>

#include <vector>

namespace mrz::app {

//! Joins mappings that lie side by side and have pages of one size: DPDK has one a page, and an arena one wherever
//! its pages are not as its files have them. Apart stay mappings of several anonymous pages, each of which somebody
//! asked for, and an arena's header page, which has a key of its own. Without frames.
std::vector<PageRange> join_mappings(const std::vector<host::MappedMemory>& mappings);

} // namespace mrz::app
