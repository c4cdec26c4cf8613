// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! The prompt's commands.
#pragma once

#include "commands_parser.hpp"
#include "reports.hpp"
#include "session.hpp"

#include <span>
#include <string_view>

namespace mrz::testpmd {

//! All patterns, in the order of the help.
std::span<const CommandPattern> command_patterns();

//! "help": a line for each command, or for those that begin with \p word.
std::string command_help(std::string_view word = {});

//! Carries lines out, and says on standard output what came of it, and on standard error what was refused.
class CommandRunner {
  public:
    //! The session must live as long as this.
    explicit CommandRunner(Session& session);

    //! Carries out a line without its end. \return whether the prompt goes on. Throws app::Interrupted; Error only
    //! where standard output does not take what it is given.
    bool run(std::string_view line);
    [[nodiscard]] CommandParser& parser() noexcept { return parser_; }

  private:
    Session& session_;
    CommandParser parser_;
    PortStatistics statistics_;
};

} // namespace mrz::testpmd
