// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! How a device interrupts the guest.
#pragma once

namespace mrz::vfio_user {

//! The MSI-X vectors of a device. Thread-safe.
class Interrupts {
  public:
    virtual ~Interrupts() = default;

    //! Interrupts. A vector that nobody listens to, or that there is not, is dropped.
    virtual void raise(unsigned vector) noexcept = 0;

  protected:
    Interrupts() = default;
    Interrupts(const Interrupts&) = default;
    Interrupts& operator=(const Interrupts&) = default;
};

} // namespace mrz::vfio_user
