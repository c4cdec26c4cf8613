// SPDX-License-Identifier: BSD-3-Clause
// The places at which cutting memory can be worth it.
#pragma once

#include "memory_runs.hpp"

#include <cstdint>
#include <vector>

namespace mrz {

//! Ascending from 0 to the end. Unless the most entries of a key, the longest segment or the longest piece binds, no
//! other cuts are cheaper than those at these places.
std::vector<Place> places_that_suffice(const MemoryRuns& memory, const Limits& limits);

//! These, and so many in long runs that no key needs more entries than it may have.
std::vector<Place> places_within_limits(const MemoryRuns& memory, const Limits& limits);

//! The size, as a shift, such that cuts at its multiples suffice whatever limits bind. \p max_piece as in KeyCosts.
unsigned unit_shift(const MemoryRuns& memory, const Limits& limits, std::uint64_t max_piece);
//! All multiples of 2^shift.
std::vector<Place> places_at_units(const MemoryRuns& memory, unsigned shift);

//! The start, the end, and each place between them that is \p first or a multiple of 2^shift behind it.
std::vector<Place> places_in_steps(const MemoryRuns& memory, unsigned shift, Place first);

} // namespace mrz
