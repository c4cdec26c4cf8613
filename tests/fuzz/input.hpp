// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Reads a fuzzer's bytes as numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace mrz::fuzz {

//! Gives zeros when the bytes are used up.
class Input {
  public:
    Input(const std::uint8_t* data, std::size_t size) : bytes_{data, size} {}

    [[nodiscard]] bool empty() const { return bytes_.empty(); }
    std::uint8_t byte()
    {
        if (bytes_.empty())
            return 0;
        const std::uint8_t value = bytes_.front();
        bytes_ = bytes_.subspan(1);
        return value;
    }
    std::uint64_t number(unsigned bytes)
    {
        std::uint64_t value = 0;
        for (unsigned i = 0; i < bytes; ++i)
            value = value << 8 | byte();
        return value;
    }
    //! Small numbers most of the time, but also ones at the ends of the address space.
    std::uint64_t address()
    {
        switch (byte() % 8) {
        case 0:
            return number(8);
        case 1:
            return ~number(2);
        default:
            return number(2);
        }
    }
    //! 0 to limit - 1.
    std::size_t below(std::size_t limit) { return static_cast<std::size_t>(number(2)) % limit; }

  private:
    std::span<const std::uint8_t> bytes_;
};

//! A claim that must hold; unlike assert it is there in every build.
inline void require(bool claim)
{
    if (!claim)
        __builtin_trap();
}

} // namespace mrz::fuzz
