// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Interrupts as events that the virtual machine waits for.
#pragma once

#include "vfio_user/interrupts.hpp"

#include <mrzone/file_descriptor.hpp>

#include <shared_mutex>
#include <span>
#include <vector>

namespace mrz::vfio_user {

//! Thread-safe.
class Vectors final : public Interrupts {
  public:
    explicit Vectors(unsigned count) : events_(count) {}

    [[nodiscard]] unsigned count() const noexcept { return static_cast<unsigned>(events_.size()); }
    //! Each is to be an eventfd. The caller sees that there are so many vectors. Throws Error (EINVAL), and changes
    //! nothing, if one is something else.
    void listen(unsigned first, std::span<FileDescriptor> events);
    void ignore(unsigned first, unsigned count) noexcept;
    void ignore_all() noexcept { ignore(0, count()); }
    void raise(unsigned vector) noexcept override;

  private:
    std::shared_mutex lock_;
    std::vector<FileDescriptor> events_; //!< One that is not valid: nobody listens.
};

} // namespace mrz::vfio_user
