// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! What a key must refuse, tried with another process's.
#pragma once

#include "line.hpp"

#include "common/output.hpp"

#include <chrono>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mrz::perf {

struct Trial {
    std::string_view what;
    WcStatus wanted = WcStatus::remote_access_error;
    WcStatus found = WcStatus::general_error;
};

//! Lines that it takes: one a trial, since what is refused ends a connection.
inline constexpr unsigned refusal_lines = 7;

//! Tries what the other end's target must refuse, and at last what it grants. Throws Error (peer) if the other end
//! does not answer at all.
std::vector<Trial> try_refusals(const Domain& domain, std::span<Line> lines, Operation granted,
                                std::chrono::milliseconds silence);
//! Whether every one ended as it had to.
bool all_as_wanted(std::span<const Trial> trials) noexcept;

std::string to_text(std::span<const Trial> trials);
app::Json to_json(std::span<const Trial> trials);

} // namespace mrz::perf
