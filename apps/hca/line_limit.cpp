// SPDX-License-Identifier: BSD-3-Clause
#include "line_limit.hpp"

#include <algorithm>
#include <utility>

namespace mrz {
namespace {

constexpr std::size_t longest_kind = 48;

std::string_view kind_of(std::string_view line)
{
    return line.substr(0, std::min(line.find_first_of("0123456789(:\""), longest_kind));
}

} // namespace

std::optional<std::uint64_t> LineLimit::admits(std::string_view line, Clock::time_point now)
{
    const std::lock_guard lock{mutex_};
    const std::string_view name =
        kinds_.size() < most_kinds || kinds_.contains(kind_of(line)) ? kind_of(line) : std::string_view{};
    const auto [found, added] = kinds_.try_emplace(std::string{name});
    Kind& kind = found->second;
    if (added)
        kind.counted = now;
    const auto intervals = (now - kind.counted) / interval;
    kind.counted += intervals * interval;
    kind.left = static_cast<std::uint32_t>(std::min<std::int64_t>(at_once, kind.left + std::int64_t{intervals}));
    if (kind.left == 0) {
        ++kind.left_out;
        return std::nullopt;
    }
    --kind.left;
    return std::exchange(kind.left_out, 0);
}

std::uint64_t LineLimit::untold() const
{
    const std::lock_guard lock{mutex_};
    std::uint64_t sum = 0;
    for (const auto& [name, kind] : kinds_)
        sum += kind.left_out;
    return sum;
}

} // namespace mrz
