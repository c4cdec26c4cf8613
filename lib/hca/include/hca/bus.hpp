// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! How the adapter reaches memory.
#pragma once

#include <mrzone/base.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace mrz::hca {

//! Which way bytes are to flow: a range of memory may be readable only.
enum class Direction : std::uint8_t { read, write };

//! From DMA addresses to bytes. Called from several threads at once.
//!
//! What memory() returned is used until the operation that asked ends, and never after. Whoever wants to take memory
//! away does so under Hca::pause(), which waits until no operation is in flight.
class Bus {
  public:
    virtual ~Bus() = default;

    //! The bytes that begin at \p at: as many as lie in one piece here, at most \p length (which is at least 1).
    //! Empty if no memory answers there, or not in this direction.
    virtual std::span<std::byte> memory(DmaAddress at, std::uint64_t length, Direction direction) noexcept = 0;

  protected:
    Bus() = default;
    Bus(const Bus&) = default;
    Bus& operator=(const Bus&) = default;
};

} // namespace mrz::hca
