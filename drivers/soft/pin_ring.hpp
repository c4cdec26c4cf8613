// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Pinning by io_uring: a table of registered buffers, whose pages the kernel holds in place as it does for a device.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <liburing.h>

namespace mrz::soft {

//! Not thread-safe.
class PinRing {
  public:
    //! What the kernel allows: IORING_MAX_REG_BUFFERS buffers, and 1 GiB each (io_uring/rsrc.c).
    static constexpr unsigned buffers = 1U << 14;
    static constexpr std::size_t longest_buffer = std::size_t{1} << 30;

    //! A table of \p places, at most `buffers`. Nothing, and the errno in \p error, if there can be none.
    static std::unique_ptr<PinRing> make(int& error, unsigned places);
    ~PinRing();
    PinRing(const PinRing&) = delete;
    PinRing& operator=(const PinRing&) = delete;

    [[nodiscard]] bool full() const noexcept { return vacant_.empty(); }
    //! Pins whole pages, at most longest_buffer. There must be room. Returns the place in the table; or nothing, and
    //! the errno in \p error.
    std::optional<unsigned> pin(std::span<std::byte> pages, int& error);
    void unpin(unsigned place) noexcept;

  private:
    PinRing() = default;
    int set(unsigned place, std::span<std::byte> pages) noexcept;

    io_uring ring_ = {};
    std::vector<unsigned> vacant_;
};

} // namespace mrz::soft
