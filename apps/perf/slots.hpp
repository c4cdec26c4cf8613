// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! The pieces of memory that operations use, one after the other or mostly a few of them.
#pragma once

#include "settings.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace mrz::perf {

//! A bijection that leaves no pattern (the finisher of splitmix64).
constexpr std::uint64_t mixed(std::uint64_t value) noexcept
{
    value += 0x9e3779b97f4a7c15;
    value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9;
    value = (value ^ value >> 27) * 0x94d049bb133111eb;
    return value ^ value >> 31;
}

//! Memory cut into slots. Both ends compute the same.
class Slots {
  public:
    Slots() = default;
    Slots(std::size_t memory, std::size_t size, Order order, std::uint64_t seed) noexcept
        : size_{size}, stride_{(size + line - 1) / line * line}, count_{std::max<std::size_t>(memory / stride_, 1)},
          hot_{order == Order::hot && count_ >= 5 ? count_ / 5 : 0}, seed_{seed}
    {
    }

    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] std::size_t count() const noexcept { return count_; }
    //! From the begin of one to the begin of the next: cache lines, as an allocator would give.
    [[nodiscard]] std::size_t stride() const noexcept { return stride_; }
    //! Of the operation with that number.
    [[nodiscard]] std::size_t of(std::uint64_t number) const noexcept
    {
        if (hot_ == 0)
            return static_cast<std::size_t>(number % count_);
        const std::uint64_t random = mixed(number ^ seed_);
        const std::uint64_t place = random >> 8;
        return static_cast<std::size_t>(random % 256 < 205 ? place % hot_ : hot_ + place % (count_ - hot_));
    }
    //! Bytes from the begin of memory.
    [[nodiscard]] std::size_t offset(std::uint64_t number) const noexcept { return of(number) * stride_; }

  private:
    static constexpr std::size_t line = 64;

    std::size_t size_ = 0;
    std::size_t stride_ = line;
    std::size_t count_ = 1;
    std::size_t hot_ = 0; //!< 0: one after the other.
    std::uint64_t seed_ = 0;
};

} // namespace mrz::perf
