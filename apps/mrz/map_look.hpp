// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! What mrz map looks at.
#pragma once

#include "common/map_view.hpp"

#include <cstddef>
#include <string>
#include <sys/types.h>

namespace mrz::app {

//! Throws Error: invalid (ESRCH) if there is no such process; permission (EACCES).
MapView look_at_process(pid_t pid);
//! Builds an arena and gives it back; needs no EAL to run before. \p size as reserve_for_arena(). Throws as that, as
//! Eal and Arena::build().
MapView look_at_arena(const std::string& size, std::size_t page_size);

} // namespace mrz::app
