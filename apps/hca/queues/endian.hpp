// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Words in memory that the interface has big endian.
#pragma once

#include <bit>
#include <cstdint>

namespace mrz::queues {

static_assert(std::endian::native == std::endian::little, "the engine's atomics and these words are little endian");

constexpr std::uint32_t from_big(std::uint32_t word) noexcept
{
    return __builtin_bswap32(word);
}
constexpr std::uint32_t to_big(std::uint32_t word) noexcept
{
    return __builtin_bswap32(word);
}

} // namespace mrz::queues
