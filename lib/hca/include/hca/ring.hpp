// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Packets from one process to another through memory that both map: one writer, one reader.
#pragma once

#include <hca/packet.hpp>
#include <hca/scratch.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

namespace mrz::hca {

//! What both sides share besides the bytes. Each of the four is on a line of its own, and neighbouring lines are
//! fetched together.
struct RingControl {
    alignas(128) std::atomic<std::uint64_t> written; //!< Bytes, ever.
    alignas(128) std::atomic<std::uint64_t> read;
    alignas(128) std::atomic<std::uint32_t> reader_sleeps; //!< Wants to be woken when something is written,
    alignas(128) std::atomic<std::uint32_t> writer_sleeps; //!< and when half of the ring is free.
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free && std::atomic<std::uint32_t>::is_always_lock_free,
              "atomics between processes");

//! A packet takes whole units, so that its head is in one piece wherever it begins.
inline constexpr std::size_t ring_unit = sizeof(Packet);
constexpr std::size_t ring_bytes_of(std::size_t payload) noexcept
{
    return sizeof(Packet) + (payload + ring_unit - 1) / ring_unit * ring_unit;
}

//! Up to two pieces of a ring: what lies behind its end goes on at its beginning.
struct RingPieces {
    std::array<Piece, 2> pieces;
    std::size_t count = 0;

    [[nodiscard]] std::span<const Piece> span() const noexcept { return {pieces.data(), count}; }
};

//! The writing side. Not thread-safe. It goes by its own count; what the reader says is believed only if it can be.
class RingWriter {
  public:
    //! \p bytes is a power of two, of at least two of the largest packets.
    RingWriter(RingControl& control, std::byte* data, std::size_t bytes) noexcept
        : control_{control}, data_{data}, size_{bytes}
    {
    }

    //! Whether a packet with so much payload fits now. False for ever if the reader's count is nonsense.
    [[nodiscard]] bool has_room(std::size_t payload) noexcept;
    //! The reader's count made no sense: the ring is of no use any more.
    [[nodiscard]] bool broken() const noexcept { return broken_; }
    //! Writes a packet, with the first \p packet.payload bytes of \p payload, for which there is room. Returns
    //! whether the reader wants to be woken.
    [[nodiscard]] bool write(const Packet& packet, std::span<const Piece> payload) noexcept;

    //! Asks to be woken when half of the ring is free. False if it is so now.
    [[nodiscard]] bool sleep() noexcept;
    void stay_awake() noexcept { control_.writer_sleeps.store(0, std::memory_order_relaxed); }

  private:
    [[nodiscard]] std::uint64_t used() noexcept;

    RingControl& control_;
    std::byte* const data_;
    const std::size_t size_;
    std::uint64_t written_ = 0;
    std::uint64_t read_ = 0; // as it was seen last
    bool broken_ = false;
};

//! The reading side. Not thread-safe, but for sleep() and stay_awake(). What it reads is another process's word, and
//! may change while it is looked at: so a head is copied before it is looked at, and payload is nothing but bytes.
class RingReader {
  public:
    RingReader(RingControl& control, std::byte* data, std::size_t bytes) noexcept
        : control_{control}, data_{data}, size_{bytes}
    {
    }

    enum class Next : std::uint8_t { nothing, packet, nonsense };
    //! Looks at the next packet: the head is copied to \p packet, the payload stays in the ring until pop().
    [[nodiscard]] Next peek(Packet& packet) noexcept;
    //! The payload of the packet seen last.
    [[nodiscard]] RingPieces payload() const noexcept;
    //! Gives the room of the packet seen last back.
    void pop() noexcept;
    //! Whether the writer waits for room, and has enough now. To be asked after some pop().
    [[nodiscard]] bool wakes_writer() noexcept;

    //! Asks to be woken when something is written. False if there is something now.
    [[nodiscard]] bool sleep() noexcept;
    void stay_awake() noexcept { control_.reader_sleeps.store(0, std::memory_order_relaxed); }

  private:
    RingControl& control_;
    std::byte* const data_;
    const std::size_t size_;
    std::atomic<std::uint64_t> read_ = 0;
    std::uint64_t written_ = 0; // as it was seen last
    std::uint32_t payload_ = 0; // of the packet seen last
};

} // namespace mrz::hca
