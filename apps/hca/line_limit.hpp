// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! How many lines the log takes: a guest that does everything wrong for ever does not fill a disk.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace mrz {

//! Lets the first lines of each kind through, and later few of them. Thread-safe.
//!
//! Of one kind are lines that begin alike: up to the first digit, parenthesis, colon or quotation mark, behind which
//! is what differs from line to line.
class LineLimit {
  public:
    using Clock = std::chrono::steady_clock;

    static constexpr std::uint32_t at_once = 50;       //!< Of a kind.
    static constexpr std::chrono::seconds interval{5}; //!< After which there may be one more.
    static constexpr std::size_t most_kinds = 64;      //!< Others count as one kind.

    //! None: the line is left out. Else how many of its kind were, since one was said.
    [[nodiscard]] std::optional<std::uint64_t> admits(std::string_view line, Clock::time_point now);
    //! Lines that were left out and that nothing has told of yet.
    [[nodiscard]] std::uint64_t untold() const;

  private:
    struct Kind {
        std::uint32_t left = at_once;
        Clock::time_point counted; // up to when the interval was counted
        std::uint64_t left_out = 0;
    };

    mutable std::mutex mutex_;
    std::map<std::string, Kind, std::less<>> kinds_;
};

} // namespace mrz
