// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! A device that carries bytes by the keys of leases. Which one it is, the program is linked with:
//! - "pinning" reaches the very pages that it pinned, as a NIC does, whatever is mapped at their addresses now. It
//!   shows a stale key.
//! - "soft", the software adapter, finds registered memory by its virtual address.
#pragma once

#include <mrzone/region.hpp>

#include <cstddef>
#include <memory>
#include <span>

namespace mrz::test {

enum class Way { out_of_memory, into_memory };

class Carrier {
  public:
    //! The name of the device. Empty if there is none here, for want of io_uring.
    static const char* device();
    //! For a domain of this device.
    explicit Carrier(const Domain& domain);
    Carrier(const Carrier&) = delete;
    Carrier& operator=(const Carrier&) = delete;
    ~Carrier();

    //! Carries bytes between memory that a key is for, named by its virtual addresses, and \p outside, of the same
    //! length. False if there is no such key or it is not for all of the memory. Thread-safe.
    bool carry(Way way, LKey key, std::span<std::byte> memory, std::span<std::byte> outside);

  private:
    struct State;
    std::unique_ptr<State> state_;
};

} // namespace mrz::test
