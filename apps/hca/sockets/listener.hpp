// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! A Unix socket at a path, where clients come.
#pragma once

#include "sockets/stop.hpp"

#include <mrzone/file_descriptor.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace mrz::sockets {

//! Listens as long as it lives, and takes its path away at the end.
class Listener {
  public:
    //! What a killed process left at the path is replaced. Throws Error: EADDRINUSE (a process listens there), EEXIST
    //! (something else is there), EINVAL (a path too long), or what the system said.
    explicit Listener(std::string path);
    ~Listener();
    Listener(const Listener&) = delete;
    Listener& operator=(const Listener&) = delete;

    [[nodiscard]] const std::string& path() const noexcept { return path_; }
    //! The next client, whose descriptor does not block; none if \p stop was set.
    [[nodiscard]] std::optional<FileDescriptor> accept(const Stop& stop) const;

  private:
    std::string path_;
    FileDescriptor socket_;
    std::uint64_t device_ = 0; //!< With inode_: the file that it made at the path, which another may have replaced.
    std::uint64_t inode_ = 0;
};

//! A connection to whoever listens at the path. Throws Error (peer).
[[nodiscard]] FileDescriptor connect(const std::string& path);

} // namespace mrz::sockets
