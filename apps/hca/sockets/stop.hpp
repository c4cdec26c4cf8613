// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! How a thread that waits for descriptors is told to end.
#pragma once

#include <mrzone/file_descriptor.hpp>

namespace mrz::sockets {

//! Set once, for good. Thread-safe.
class Stop {
  public:
    Stop();

    void set() const noexcept;
    [[nodiscard]] bool is_set() const noexcept { return wait(-1, 0, 0) == Woken::stop; }

    //! Readable once it is set.
    [[nodiscard]] int descriptor() const noexcept { return event_.get(); }

    enum class Woken { stop, ready, timeout };
    //! Waits until \p fd (none: -1) is ready for \p events of poll(2), or has ended, or this is set, or
    //! \p milliseconds (for ever: -1) are over.
    Woken wait(int fd, short events, int milliseconds = -1) const noexcept;

  private:
    FileDescriptor event_;
};

} // namespace mrz::sockets
