// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Limits of this process (ulimit) that DPDK's EAL would run into without saying which.
#pragma once

#include <mrzone/base.hpp>

#include <cstdint>
#include <optional>

namespace mrz::app {

//! Throws Error (invalid, EMFILE) unless an EAL in memory may open a file for each of \p pages. It raises its own
//! limit as far as it may.
void check_open_files(std::uint64_t pages);

//! What may have refused memory to an EAL: the limit on address space or on file sizes, if there is one.
std::optional<Cause> limit_on_memory(std::string what);

} // namespace mrz::app
