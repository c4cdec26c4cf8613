// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Messages over a socket.
#pragma once

#include "sockets/stop.hpp"
#include "vfio_user/protocol.hpp"

#include <mrzone/file_descriptor.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace mrz::vfio_user {

struct Message {
    Header header;
    std::span<const std::byte> payload; //!< Until the next receive().
    std::vector<FileDescriptor> files;
};

//! One client's end. Used by one thread.
class Connection {
  public:
    //! \p socket does not block; \p stop outlives this.
    Connection(FileDescriptor socket, const sockets::Stop& stop);

    //! Waits for the next command. None if the client has gone, or \p stop was set.
    //! Throws Error (peer, EPROTO) for what is no command; then the stream cannot be understood any more.
    std::optional<Message> receive();
    //! Answers, unless the client wants no answer. Waits for room. What cannot be sent, since the client has gone, is
    //! forgotten: receive() says so.
    void reply(const Header& to, std::span<const std::byte> payload);
    void reply_error(const Header& to, int error);

  private:
    //! The descriptors that came with the bytes up to one.
    struct Files {
        std::size_t last_byte = 0; //!< In buffer_.
        std::vector<FileDescriptor> files;
    };

    [[nodiscard]] std::optional<Header> header() const;
    //! Reads what there is, having waited for it. \return false at the end.
    bool fill();
    void make_room();
    void send(const Header& header, std::span<const std::byte> payload);

    FileDescriptor socket_;
    const sockets::Stop& stop_;
    // Messages come in one piece or many, and several may come at once.
    std::vector<std::byte> buffer_;
    std::size_t begin_ = 0; //!< Of what is not taken yet.
    std::size_t end_ = 0;
    std::vector<Files> files_;
    bool gone_ = false;
};

} // namespace mrz::vfio_user
