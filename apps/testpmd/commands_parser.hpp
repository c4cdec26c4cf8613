// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Lines that a user writes, as one of the commands there are. Knows no ports.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

struct cmdline;

namespace mrz::testpmd {

//! How a command is written, of words:
//!
//!     word         itself, and "a|b" one of several
//!     <port>, <packets>
//!                  a number of 16 bits
//!     <count>      a number of 32 bits
//!     <mode>       one word, for which completion proposes the forwarding engines
//!     <command>    one word, for which completion proposes the first words of all commands
//!     <lengths>    all that is left of the line
struct CommandPattern {
    std::string words;
    std::string help; //!< One sentence, without its full stop.
};

//! A word as it was written; numbers also as such.
struct Word {
    std::string text;
    std::uint32_t number = 0;
};
using Words = std::vector<Word>;

//! What a line is.
enum class LineKind {
    command,
    nothing,   //!< Blanks, or a comment.
    unknown,   //!< It begins like none.
    bad,       //!< It begins like one, but does not go on so.
    ambiguous, //!< Several commands are written so.
};
struct ParsedLine {
    LineKind kind = LineKind::nothing;
    std::size_t command = 0; //!< Index of its pattern.
    Words words = {};        //!< One for each of the pattern's.
};

//! A table of commands for DPDK's command line library. Used by one thread.
class CommandParser {
  public:
    //! \p patterns must live as long as this.
    explicit CommandParser(std::span<const CommandPattern> patterns);
    ~CommandParser();
    CommandParser(const CommandParser&) = delete;
    CommandParser& operator=(const CommandParser&) = delete;

    //! \p line is without its end.
    [[nodiscard]] ParsedLine parse(std::string_view line);
    //! As cmdline_complete(): what could follow a line that is not yet whole.
    int complete(const char* line, int* state, char* out, unsigned int size) noexcept;

  private:
    struct Table;
    std::unique_ptr<Table> table_;
};

} // namespace mrz::testpmd
