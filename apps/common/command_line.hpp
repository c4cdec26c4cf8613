// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Command lines: what one asks to be printed instead of work, and how one is refused.
#pragma once

#include <CLI/CLI.hpp>

#include <optional>
#include <string>
#include <vector>

namespace mrz::app {

//! Throws Error (invalid, EINVAL): the command line does not keep to \p limit.
[[noreturn]] void refuse_command_line(std::string limit, std::string remedy);

//! Parses \p words, which are the command line without the program's name, for \p app, whose name begins with the
//! program's.
//! \return help or the version, where that was asked for. Throws Error as refuse_command_line().
std::optional<std::string> parse_command_line(CLI::App& app, std::vector<std::string> words);
//! The same of what main() was given.
std::optional<std::string> parse_command_line(CLI::App& app, int argc, const char* const* argv);

} // namespace mrz::app
