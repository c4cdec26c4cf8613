// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! The 16-bit words that the internet's headers are made of, and their sum.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace mrz::test {

inline std::uint16_t read16(std::span<const std::uint8_t> bytes, std::size_t at)
{
    return static_cast<std::uint16_t>(bytes[at] << 8 | bytes[at + 1]);
}
inline void write16(std::vector<std::uint8_t>& bytes, std::size_t at, std::size_t value)
{
    bytes.at(at) = static_cast<std::uint8_t>(value >> 8);
    bytes.at(at + 1) = static_cast<std::uint8_t>(value);
}

//! RFC 1071: the one's complement sum of 16-bit words. 0xffff over anything that holds its own checksum.
inline std::uint16_t ones_sum(std::span<const std::uint8_t> bytes, std::uint32_t start = 0)
{
    std::uint64_t sum = start;
    for (std::size_t i = 0; i < bytes.size(); ++i)
        sum += static_cast<std::uint64_t>(bytes[i]) << (i % 2 == 0 ? 8 : 0);
    while (sum > 0xffff)
        sum = (sum & 0xffff) + (sum >> 16);
    return static_cast<std::uint16_t>(sum);
}

} // namespace mrz::test
