// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Memory in reach: what one operation works on.
#pragma once

#include <hca/bus.hpp>
#include <hca/translate.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace mrz::hca {

//! Bytes to read or write; without data: zeros to read, and a void to write to.
struct Piece {
    std::byte* data = nullptr;
    std::uint64_t length = 0;
};

//! Appends the bytes behind \p segments to \p pieces. False if the bus does not answer for one of them.
bool resolve(Bus& bus, std::span<const DmaSegment> segments, Direction direction, std::vector<Piece>& pieces);

//! Copies as many bytes as the shorter side has.
void copy(std::span<const Piece> to, std::span<const Piece> from) noexcept;

//! Room that operations of one queue pair use again and again. Guarded by its send lock.
struct Scratch {
    std::vector<DmaSegment> segments;
    std::vector<Piece> local;  //!< The requester's memory.
    std::vector<Piece> remote; //!< The responder's memory.
};

} // namespace mrz::hca
