// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Memory of the guest, read and written by those outside of the engine: commands, queues.
#pragma once

#include <hca/bus.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <span>

namespace mrz::dma {

//! A bus whose memory may go away between two accesses, and stays during one.
//!
//! The engine does not hold it: whoever changes what memory answers pauses the engine as well (hca::Hca::pause()).
class Bus : public hca::Bus {
  public:
    //! While it lives, memory() means the same. Short: do not call the engine, the functions below, or hold() again,
    //! and take no locks, meanwhile.
    [[nodiscard]] std::shared_lock<std::shared_mutex> hold()
    {
        if (changing_.load(std::memory_order_relaxed))
            const std::lock_guard waited{turn_};
        return std::shared_lock{lock_};
    }
    //! Runs \p change while nobody holds it.
    void exclusively(const std::function<void()>& change);

  private:
    std::shared_mutex lock_;
    // Those who hold it, one after the other, would else keep out who wants to change it, for as long as they like.
    std::mutex turn_;
    std::atomic<bool> changing_ = false;
};

//! Copies from the guest's memory. \return false if not all of it answers; then \p into is in part written.
[[nodiscard]] bool read(Bus& bus, DmaAddress at, std::span<std::byte> into) noexcept;
//! Copies to the guest's memory, in ascending order of addresses. \return false if not all of it answers; then a part
//! may have been written.
[[nodiscard]] bool write(Bus& bus, DmaAddress at, std::span<const std::byte> from) noexcept;

//! One access of a naturally aligned word, in the byte order of this machine, so that the guest sees all of it or
//! none. Nothing, or false, if it is not aligned or no memory answers. A load is done before what follows it
//! (acquire), a store after what precedes it (release).
[[nodiscard]] std::optional<std::uint32_t> load32(Bus& bus, DmaAddress at) noexcept;
[[nodiscard]] std::optional<std::uint64_t> load64(Bus& bus, DmaAddress at) noexcept;
[[nodiscard]] bool store8(Bus& bus, DmaAddress at, std::uint8_t value) noexcept;
[[nodiscard]] bool store32(Bus& bus, DmaAddress at, std::uint32_t value) noexcept;
[[nodiscard]] bool store64(Bus& bus, DmaAddress at, std::uint64_t value) noexcept;

} // namespace mrz::dma
