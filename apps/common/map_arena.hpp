// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Pictures of what this process, or another, has mapped.
#pragma once

#include "map_view.hpp"

#include <string>
#include <vector>

namespace mrz {
class Arena;
}

namespace mrz::app {

//! Of each window its header page, and its block.
std::vector<PageRange> ranges_of(const Arena& arena);

//! With what each range costs on this machine. Throws Error as make_plan(); Interrupted.
MapView view_of(std::string title, std::vector<PageRange> ranges);

} // namespace mrz::app
