// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! The beginning of BAR 0: where the driver finds the firmware, tells it where commands lie and rings for them.
#pragma once

#include <mrzone/base.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

namespace mrz::firmware {

//! Called by the transport's thread only.
class InitializationSegment {
  public:
    //! Bytes of the BAR that it takes; what it has no register for reads as 0 and is not written.
    static constexpr std::uint64_t bytes = 0x8000;
    //! 2^this slots of 2^that bytes.
    static constexpr unsigned log_slots = 5;
    static constexpr unsigned log_stride = 6;

    struct Told {
        //! Slots that have a command, a bit each, and where the queue is.
        std::function<void(DmaAddress queue, std::uint32_t slots)> doorbell;
        //! The driver has turned the device off, and waits until that is done.
        std::function<void()> turn_off;
    };
    explicit InitializationSegment(Told told) : told_{std::move(told)} {}

    void read(std::uint64_t offset, std::span<std::byte> into);
    void write(std::uint64_t offset, std::span<const std::byte> from);
    void reset();

  private:
    [[nodiscard]] std::uint64_t nanoseconds() const;
    [[nodiscard]] std::uint32_t register_at(std::uint64_t offset);
    void write_register(std::uint64_t offset, std::uint32_t value);

    const Told told_;
    std::uint32_t queue_high_ = 0;
    std::uint32_t queue_low_ = 0;
    std::uint32_t nic_interface_ = 0;
    std::uint32_t health_counter_ = 0;
    const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

} // namespace mrz::firmware
