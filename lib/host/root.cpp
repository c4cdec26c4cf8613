// SPDX-License-Identifier: BSD-3-Clause
#include <mrzone/host.hpp>

#include "files.hpp"
#include "parse.hpp"

namespace mrz::host {

std::filesystem::path Root::operator()(std::string_view absolute) const
{
    // An absolute right-hand side of operator/ would replace the prefix.
    const auto first = absolute.find_first_not_of('/');
    return first == std::string_view::npos ? prefix_ : prefix_ / absolute.substr(first);
}

std::optional<std::string> Root::text(std::string_view absolute) const
{
    std::string text;
    if (!read_in_chunks((*this)(absolute), [&](std::string_view chunk) { text += chunk; }))
        return std::nullopt;
    return text;
}

std::optional<std::uint64_t> Root::number(std::string_view absolute) const
{
    const auto whole = text(absolute);
    return whole ? to_number(without_newline(*whole)) : std::nullopt;
}

} // namespace mrz::host
