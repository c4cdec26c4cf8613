// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! What is answered to telemetry's clients. Knows no DPDK. Private to this floor.
#pragma once

#include <mrzone/base.hpp>
#include <mrzone/fields.hpp>

#include <cstddef>
#include <span>
#include <string_view>

namespace mrz::telemetry {

//! What DPDK's answers have room for: bytes of their text, which is cut without a word where it is longer.
struct Room {
    std::size_t fields = 0;
    std::size_t bytes = 0;
    std::size_t word = 0; //!< Bytes of one value.
};

struct Command {
    const char* name;
    const char* help;
    //! \p parameters: what is behind the first comma of a request; empty if there is none. Throws Error.
    Fields (*answer)(std::string_view parameters);
};
std::span<const Command> commands();

//! An error in place of an answer.
Fields answer_of(const Error& error);

//! Makes an answer one that fits: words are cut, and say so by "..."; other characters than printable ASCII ones,
//! which DPDK 22.11 does not stand, become "?"; fields that are too many are left out, which "left_out" counts.
void fit(Fields& fields, const Room& room);

} // namespace mrz::telemetry
