// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! How the structures of the firmware interface are written down: where a field is, in bits, and how it is read.
//!
//! A structure is a namespace of constants: `bytes`, its Fields and its Blocks. Names are those of Linux's
//! include/linux/mlx5/mlx5_ifc.h without what all of them share (mlx5_ifc_create_mkey_in_bits is create_mkey_in), and
//! a test compares each offset and width with that header.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace mrz::layouts {

//! A number, big endian: its first bit and how many it has, 1 to 64. Bit 0 is the most significant one of byte 0.
struct Field {
    std::uint16_t offset;
    std::uint16_t width;
};

//! A structure within another, or an array at its end: bytes.
struct Block {
    std::uint16_t offset;
    std::uint16_t bytes; //!< 0 where it goes on to the end of the command.
};

//! A field of a structure that begins \p bytes into another.
constexpr Field shifted(Field field, std::size_t bytes)
{
    return {static_cast<std::uint16_t>(field.offset + bytes * 8), field.width};
}
//! A field of the structure that \p block is.
constexpr Field inside(Block block, Field field)
{
    return shifted(field, block.offset);
}

constexpr bool has(std::span<const std::byte> bytes, Field field)
{
    return std::size_t{field.offset} + field.width <= bytes.size() * 8;
}

//! 0 where the field does not lie within the bytes.
constexpr std::uint64_t get(std::span<const std::byte> from, Field field)
{
    if (!has(from, field))
        return 0;
    std::uint64_t value = 0;
    unsigned at = field.offset;
    unsigned left = field.width;
    while (left > 0) {
        const unsigned before = at % 8;
        const unsigned take = std::min(8 - before, left);
        const unsigned byte = std::to_integer<unsigned>(from[at / 8]);
        value = value << take | (byte >> (8 - before - take) & ((1U << take) - 1));
        at += take;
        left -= take;
    }
    return value;
}

//! Sets the low bits of \p value, as many as the field has; nothing where it does not lie within the bytes.
constexpr void set(std::span<std::byte> in, Field field, std::uint64_t value)
{
    if (!has(in, field))
        return;
    unsigned at = field.offset;
    unsigned left = field.width;
    while (left > 0) {
        const unsigned before = at % 8;
        const unsigned take = std::min(8 - before, left);
        const unsigned below = 8 - before - take;
        const unsigned mask = ((1U << take) - 1) << below;
        const unsigned bits = static_cast<unsigned>(value >> (left - take)) << below & mask;
        std::byte& byte = in[at / 8];
        byte = (byte & ~static_cast<std::byte>(mask)) | static_cast<std::byte>(bits);
        at += take;
        left -= take;
    }
}

//! Whether a field is not 0.
constexpr bool is_set(std::span<const std::byte> from, Field field)
{
    return get(from, field) != 0;
}

//! The bytes of \p block, as many of them as there are.
template <class Byte>
constexpr std::span<Byte> part(std::span<Byte> of, Block block)
{
    const std::size_t begin = std::min<std::size_t>(block.offset, of.size());
    const std::size_t most = of.size() - begin;
    return of.subspan(begin, block.bytes == 0 ? most : std::min<std::size_t>(block.bytes, most));
}

} // namespace mrz::layouts
