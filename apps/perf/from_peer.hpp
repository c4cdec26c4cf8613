// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Values out of a peer's messages, which may hold anything.
#pragma once

#include "common/output.hpp"

#include <cerrno>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace mrz::perf {

//! Throws Error (peer, EPROTO).
[[noreturn]] void refuse_message(std::string limit);

//! The member \p name of an object. Throws Error (peer, EPROTO) if there is none.
const app::Json& member(const app::Json& object, std::string_view name);
//! A whole number up to \p most. Throws Error (peer, EPROTO).
std::uint64_t number_from(const app::Json& object, std::string_view name,
                          std::uint64_t most = std::numeric_limits<std::uint64_t>::max());
//! A number that is not negative, and finite. Throws Error (peer, EPROTO).
double real_from(const app::Json& object, std::string_view name);
bool flag_from(const app::Json& object, std::string_view name);
//! Of at most \p most bytes, none of which would change how a terminal behaves. Throws Error (peer, EPROTO).
std::string text_from(const app::Json& object, std::string_view name, std::size_t most = 1024);

//! The value that one of \p words stands for. Throws Error (peer, EPROTO).
template <class Value, std::size_t n>
Value choice_from(const app::Json& object, std::string_view name,
                  const std::pair<std::string_view, Value> (&words)[n])
{
    const std::string text = text_from(object, name);
    for (const auto& [spelled, value] : words)
        if (spelled == text)
            return value;
    refuse_message(std::string{name} + " is none of those that there are");
}

} // namespace mrz::perf
