// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! One end of a link to an engine of another process: a ring each way in memory that both map, and a socket, which
//! wakes the peer and tells of its end.
#pragma once

#include <hca/ring.hpp>

#include <mrzone/file_descriptor.hpp>

#include <cstddef>
#include <string>
#include <string_view>

#include <sys/types.h>

namespace mrz::hca {

//! The memory of both rings. Its size is sealed, so that neither end can shorten it under the other; what is punched
//! out of it reads as zeros. One side makes it, and hands the descriptor to the other over the socket (SCM_RIGHTS).
class WireMemory {
  public:
    static constexpr std::size_t ring_bytes = std::size_t{512} << 10; //!< Each way.

    //! Throws Error, as memfd_create(2), fallocate(2) and mmap(2) fail.
    static WireMemory make();
    //! Takes what a peer sent. Throws Error, data (EPROTO), if it is not sealed memory of the right size.
    static WireMemory adopt(FileDescriptor descriptor);

    WireMemory(WireMemory&& other) noexcept;
    WireMemory& operator=(WireMemory&&) = delete;
    ~WireMemory();

    //! To be sent.
    [[nodiscard]] int descriptor() const noexcept { return descriptor_.get(); }
    //! The memory stays mapped.
    void close_descriptor() noexcept { descriptor_ = {}; }

  private:
    friend class Wire;
    explicit WireMemory(FileDescriptor descriptor);

    [[nodiscard]] RingControl& control(bool second) const noexcept;
    [[nodiscard]] std::byte* data(bool second) const noexcept;

    FileDescriptor descriptor_;
    std::byte* address_ = nullptr;
};

class Wire {
  public:
    //! Who made the memory writes to the first of its rings.
    enum class Side : std::uint8_t { maker, taker };

    //! \p socket is a connected Unix socket of sequenced packets.
    Wire(FileDescriptor socket, WireMemory memory, Side side);
    Wire(const Wire&) = delete;
    Wire& operator=(const Wire&) = delete;
    ~Wire() = default;

    [[nodiscard]] RingWriter& out() noexcept { return out_; }
    [[nodiscard]] RingReader& in() noexcept { return in_; }

    //! Readable when hear() has something to tell.
    [[nodiscard]] int socket() const noexcept { return socket_.get(); }
    //! A pidfd, readable when the peer's process has ended: its children may keep the socket open. -1 if the kernel
    //! gives none, which is said once.
    [[nodiscard]] int process() const noexcept { return process_.get(); }

    //! Wakes the peer.
    void wake() const noexcept;
    struct Heard {
        bool gone = false;
        std::string why; //!< With gone, if it said.
    };
    //! Reads what the peer said. Never blocks.
    [[nodiscard]] Heard hear() const;
    //! Tells the peer \p why, if not empty, and that this is the end. Does nothing in a child of fork().
    void hang_up(std::string_view why) const noexcept;

  private:
    const pid_t owner_;
    FileDescriptor socket_;
    FileDescriptor process_;
    WireMemory memory_;
    RingWriter out_;
    RingReader in_;
};

} // namespace mrz::hca
