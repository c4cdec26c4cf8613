// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! A Unix socket at a path, where clients come.
#pragma once

#include "sockets/stop.hpp"

#include <mrzone/file_descriptor.hpp>

#include <cstdint>
#include <optional>
#include <string>

#include <sys/socket.h>

namespace mrz::sockets {

//! Listens as long as it lives, and takes its path away at the end.
class Listener {
  public:
    //! What a killed process left at the path is replaced. Throws Error: EADDRINUSE (a process listens there), EEXIST
    //! (something else is there), EINVAL (a path too long), or what the system said. \p type is that of socket(2).
    explicit Listener(std::string path, int type = SOCK_STREAM);
    ~Listener();
    Listener(const Listener&) = delete;
    Listener& operator=(const Listener&) = delete;

    [[nodiscard]] const std::string& path() const noexcept { return path_; }
    //! The next client, whose descriptor does not block; none if \p stop was set.
    [[nodiscard]] std::optional<FileDescriptor> accept(const Stop& stop) const;
    struct Accepted {
        std::optional<FileDescriptor> client;
        bool has_to_wait = false; //!< There is one, but no descriptor for him, or no memory, which is said once.
    };
    //! The same, without waiting for one.
    [[nodiscard]] Accepted accept_now() const;
    //! Whether clients that come to the path come here: it may have been removed, or replaced.
    [[nodiscard]] bool is_at_its_path() const noexcept;
    //! Readable when there is a client.
    [[nodiscard]] int descriptor() const noexcept { return socket_.get(); }

  private:
    std::string path_;
    FileDescriptor socket_;
    std::uint64_t device_ = 0; //!< With inode_: the file that it made at the path, which another may have replaced.
    std::uint64_t inode_ = 0;
};

//! A connection to whoever listens at the path. Throws Error (peer). \p type is that of socket(2), SOCK_NONBLOCK
//! included: then it does not wait where others do already (EAGAIN).
[[nodiscard]] FileDescriptor connect(const std::string& path, int type = SOCK_STREAM);

} // namespace mrz::sockets
