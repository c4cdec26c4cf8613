// SPDX-License-Identifier: BSD-3-Clause
// Refusals that the files of this floor share.
#pragma once

#include <mrzone/plan.hpp>

#include <string>

namespace mrz {

//! Throws Error (invalid, EINVAL).
[[noreturn]] void refuse(std::string what, std::string remedy);
//! Throws Error (invalid, EINVAL) for limits that contradict one another or make no sense.
void check_limits(const Limits& limits);

} // namespace mrz
