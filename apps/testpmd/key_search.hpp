// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! The key of a packet's memory, by a plain search.
#pragma once

#include <mrzone/base.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace mrz::testpmd {

//! Memory that one key covers.
struct KeyedMemory {
    std::uintptr_t address = 0;
    std::size_t length = 0;
    LKey key = {};
};

//! Reading is thread-safe.
class KeySearch {
  public:
    explicit KeySearch(std::vector<KeyedMemory> memory);

    //! The key that covers all \p length bytes.
    [[nodiscard]] std::optional<LKey> find(const void* address, std::size_t length) const noexcept
    {
        const auto first = reinterpret_cast<std::uintptr_t>(address);
        const auto after = std::ranges::upper_bound(memory_, first, {}, &KeyedMemory::address);
        if (after == memory_.begin())
            return std::nullopt;
        const KeyedMemory& candidate = *std::prev(after);
        const std::size_t offset = first - candidate.address;
        if (offset > candidate.length || length > candidate.length - offset)
            return std::nullopt;
        return candidate.key;
    }

  private:
    std::vector<KeyedMemory> memory_; //!< Sorted by address, without overlaps.
};

} // namespace mrz::testpmd
