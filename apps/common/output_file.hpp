// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! A result that goes to a file.
#pragma once

#include <string>
#include <string_view>

namespace mrz::app {

//! Writes \p text to \p path, replacing what was there, or to standard output for "-". \p what names it in errors.
//! A file that was made and could not be filled is removed. Throws Error: permission, or invalid with the errno of
//! open or write; as print_text().
void write_output(const std::string& path, std::string_view text, const std::string& what);

} // namespace mrz::app
