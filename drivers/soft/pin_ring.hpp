// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Pinning by io_uring: a table of registered buffers, whose pages the kernel holds in place as it does for a device.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include <liburing.h>
#include <sys/uio.h>

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

    [[nodiscard]] std::size_t room() const noexcept { return vacant_.size(); }
    //! Pins pieces of whole pages, each at most longest_buffer, for which there must be room, with as few calls of
    //! the kernel as there are gaps between vacant places. Returns the places in the table of the first so many
    //! pieces; where these are not all, the errno of the next in \p error.
    std::vector<unsigned> pin(std::span<const std::span<std::byte>> pieces, int& error);
    void unpin(unsigned place) noexcept;

  private:
    PinRing() = default;
    int set(unsigned place, std::span<const iovec> vectors) noexcept;

    io_uring ring_ = {};
    std::vector<unsigned> vacant_;
};

} // namespace mrz::soft
