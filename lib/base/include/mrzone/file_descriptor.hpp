// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! A file descriptor with an owner.
#pragma once

#include <mrzone/base.hpp>

#include <utility>

namespace mrz {

//! Owns one file descriptor.
class FileDescriptor {
  public:
    FileDescriptor() = default;
    explicit FileDescriptor(int fd) noexcept : fd_{fd} {}
    FileDescriptor(FileDescriptor&& other) noexcept : fd_{std::exchange(other.fd_, -1)} {}
    FileDescriptor& operator=(FileDescriptor&& other) noexcept
    {
        std::swap(fd_, other.fd_);
        return *this;
    }
    MRZ_API ~FileDescriptor();

    [[nodiscard]] int get() const noexcept { return fd_; }
    [[nodiscard]] bool valid() const noexcept { return fd_ >= 0; }
    //! Gives up ownership: the descriptor stays open.
    int release() noexcept { return std::exchange(fd_, -1); }

  private:
    int fd_ = -1;
};

} // namespace mrz
