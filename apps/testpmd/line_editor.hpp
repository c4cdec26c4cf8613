// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! A line that is typed at a terminal, with history and completion.
#pragma once

#include "commands_parser.hpp"

#include <memory>
#include <string>
#include <string_view>

#include <termios.h>

struct rdline;

namespace mrz::testpmd {

//! Standard input, as a terminal, hands on each key at once and unseen for as long as this lives; then it is as it
//! was. Ctrl-C still is a signal. Ctrl-Z and Ctrl-\ are none, since who returned from them would find the terminal
//! in another state.
class RawTerminal {
  public:
    //! Throws Error (internal) if the terminal does not do as it is told.
    RawTerminal();
    ~RawTerminal();
    RawTerminal(const RawTerminal&) = delete;
    RawTerminal& operator=(const RawTerminal&) = delete;

  private:
    termios before_;
};

//! DPDK's line editor. Shows what is typed on standard output.
class LineEditor {
  public:
    //! Shows the prompt. \p parser must live as long as this.
    LineEditor(std::string prompt, CommandParser& parser);
    ~LineEditor();
    LineEditor(const LineEditor&) = delete;
    LineEditor& operator=(const LineEditor&) = delete;

    //! What a key did.
    enum class Key {
        edited,
        line,         //!< The line is whole: see text(). next_line() goes on.
        end_of_input, //!< Ctrl-D on an empty line.
    };
    Key type(char key);
    //! The line, without its end.
    [[nodiscard]] std::string text() const;
    //! Keeps the line in the history, and shows a new prompt.
    void next_line();

  private:
    struct Free {
        void operator()(rdline* line) const noexcept;
    };
    std::string prompt_;
    CommandParser& parser_;
    std::unique_ptr<rdline, Free> line_;
    std::string last_;
};

} // namespace mrz::testpmd
