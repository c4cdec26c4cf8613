// SPDX-License-Identifier: BSD-3-Clause
// The keys of a pool so small that every way to have them can be tried.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace mrz {

//! The cheapest way to split \p count of \p frames pages into keys, by trying every one: for at most most_tried
//! pages. \p cost_of says what a key over some pages costs, one bit a page; none if there is none. \return the keys'
//! pages, one bit each; empty if there is no way.
inline constexpr std::size_t most_tried = 10;
std::vector<std::uint32_t> cheapest_split(std::size_t frames, std::size_t count,
                                          const std::function<std::optional<std::uint64_t>(std::uint32_t)>& cost_of);

} // namespace mrz
