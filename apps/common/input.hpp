// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! What programs read: files, pipes and standard input.
#pragma once

#include <cstddef>
#include <string>

namespace mrz::app {

//! Longer input is a mistake, such as a device that never ends, and its contents might fill the memory. Bytes.
constexpr std::size_t longest_input = std::size_t{256} << 20;

//! Reads all of \p path, or of standard input for "-", waiting for whoever writes a pipe. \p what names it in errors.
//! Throws Error: permission; invalid (the errno of open or read; EFBIG if it is longer than \p longest bytes);
//! Interrupted.
std::string read_input(const std::string& path, const std::string& what, std::size_t longest = longest_input);

} // namespace mrz::app
