// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Where the EAL's telemetry listens. Private to this floor.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace mrz::telemetry {

//! The path of a Unix socket that this process listens at and that begins with \p prefix; none if there is none.
//! Throws Error (internal) where /proc cannot be read.
std::optional<std::string> listening_socket(std::string_view prefix);

} // namespace mrz::telemetry
