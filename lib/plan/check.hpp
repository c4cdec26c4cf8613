// SPDX-License-Identifier: BSD-3-Clause
// Refusals that the files of this floor share.
#pragma once

#include <mrzone/plan.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace mrz {

//! The limit that refuses something, its value, and the value that would do: parts of a Cause.
struct Refused {
    std::string limit;
    std::optional<std::uint64_t> present = {};
    std::optional<std::uint64_t> need = {};
};

//! Throws Error (invalid, EINVAL).
[[noreturn]] void refuse(std::string what, Refused by, std::string remedy);
//! Throws Error (invalid, EINVAL) for limits that contradict one another or make no sense.
void check_limits(const Limits& limits);

} // namespace mrz
