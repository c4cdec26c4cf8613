// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Work requests that change keys (UMR), as an adapter reads them.
#pragma once

#include "mkey.hpp"

#include <mrzone/base.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace mrz::mlx5 {

//! The most entries that a request takes along. With them it has 896 bytes, which any adapter takes; the most that
//! there is are 1,024.
inline constexpr std::size_t most_movable_entries = 48;

//! Takes back all that a key leads to.
[[nodiscard]] std::vector<std::byte> request_freeing(std::uint32_t queue_pair, std::uint32_t mkey);

//! What a key is to lead to.
struct Filling {
    std::uint32_t mkey = 0;   //!< As it is now. Leads nowhere.
    std::uint8_t variant = 0; //!< Its low byte, from then on.
    Iova start = {};
    std::uint64_t length = 0; //!< Bytes, of all entries.
    std::span<const MkeyEntry> entries = {};
    bool small_fence = false; //!< Whether the adapter says that this suffices.
};
//! Waits for requests before it that freed a key.
[[nodiscard]] std::vector<std::byte> request_filling(std::uint32_t queue_pair, const Filling& filling);

//! Asks for a completion.
void signal(std::span<std::byte> request) noexcept;

} // namespace mrz::mlx5
