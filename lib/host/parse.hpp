// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! How the kernel's text files are taken apart. Private to this floor.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace mrz::host {

//! All of \p digits as one unsigned number; nothing for junk, signs, spaces, nothing at all, or an overflow.
std::optional<std::uint64_t> to_number(std::string_view digits, int base = 10);
//! a * b, or nothing if it overflows.
std::optional<std::uint64_t> product(std::uint64_t a, std::uint64_t b);

//! The text without the newline that ends it.
std::string_view without_newline(std::string_view text);
//! The lines of a text, without their newlines.
std::vector<std::string_view> lines(std::string_view text);
//! The words between spaces and tabs.
std::vector<std::string_view> words(std::string_view line);
//! The parts between separators, empty ones too.
std::vector<std::string_view> split(std::string_view text, char separator);

//! What follows "name:" on the first line that begins so, as in /proc/self/status and /proc/meminfo, trimmed.
std::optional<std::string_view> field(std::string_view text, std::string_view name);
//! A "123 kB" as bytes.
std::optional<std::uint64_t> kilobytes(std::string_view value);

} // namespace mrz::host
