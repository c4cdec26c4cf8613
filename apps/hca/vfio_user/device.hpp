// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! What the transport serves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace mrz::vfio_user {

//! A PCI function with one BAR. Called by the transport's thread only, one call at a time.
//!
//! Ranges are inside of the space that they are in, and not empty; otherwise they are whatever the guest did: any
//! length, any alignment.
class Device {
  public:
    virtual ~Device() = default;

    //! Configuration space.
    virtual void read_config(std::uint64_t offset, std::span<std::byte> bytes) = 0;
    virtual void write_config(std::uint64_t offset, std::span<const std::byte> bytes) = 0;
    //! BAR 0.
    virtual void read_bar(std::uint64_t offset, std::span<std::byte> bytes) = 0;
    virtual void write_bar(std::uint64_t offset, std::span<const std::byte> bytes) = 0;
    //! As after power-on. When it returns nothing of the device uses memory of the guest, or will, until somebody
    //! tells it to.
    virtual void reset() = 0;

  protected:
    Device() = default;
    Device(const Device&) = default;
    Device& operator=(const Device&) = default;
};

} // namespace mrz::vfio_user
