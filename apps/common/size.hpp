// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Sizes as people write them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace mrz::app {

//! Bytes of "1G", "2M", "512MiB", "64 kb" or "4096": powers of 1024, letters of either case.
//! Throws Error (invalid, EINVAL; ERANGE past 64 bits), naming \p what.
std::size_t parse_size(std::string_view text, std::string_view what);

//! A size that parse_size() reads back: "1G", "2M", "4096". Shorter than format_size(), for commands to be pasted.
std::string size_argument(std::size_t bytes);

} // namespace mrz::app
