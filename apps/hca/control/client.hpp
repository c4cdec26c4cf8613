// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! The other end of the control socket.
#pragma once

#include "control/commands.hpp"

#include <span>
#include <string>

namespace mrz::control {

//! A request of words: VERB NAME [ARGUMENT=VALUE]...; a value that is a number, decimal or 0x..., becomes one.
//! Throws Error (invalid, EINVAL).
[[nodiscard]] Json request_of(std::span<const std::string> words);
//! Asks whoever listens at \p path. \return what it answers. Throws Error: what the other end said (peer), or as
//! sockets::connect().
[[nodiscard]] Json ask(const std::string& path, const Json& request);

} // namespace mrz::control
