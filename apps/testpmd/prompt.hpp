// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! The prompt, and files of commands.
#pragma once

#include "session.hpp"

#include <functional>
#include <string>

namespace mrz::testpmd {

//! Why a prompt ended.
enum class PromptEnd {
    quit,         //!< Somebody said so.
    end_of_input, //!< Ctrl-D, or the end of a file or a pipe.
    interrupted,  //!< A signal: see app::pending_interrupt().
};

//! Reads commands from standard input, which may be a terminal, a pipe or a file, until one ends it.
//! Calls \p every_second about once a second, between commands.
PromptEnd run_prompt(Session& session, const std::function<void()>& every_second);
//! Reads commands from a file. Each line is shown before it is carried out. A line that fails is said, and the rest
//! is carried out all the same, as testpmd does. Throws Error (invalid) if it cannot be read.
PromptEnd run_command_file(Session& session, const std::string& path);

} // namespace mrz::testpmd
