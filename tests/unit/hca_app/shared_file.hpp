// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Memory as a virtual machine shares it: a sealed memfd.
#pragma once

#include <mrzone/file_descriptor.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace mrz::test {

class SharedFile {
  public:
    explicit SharedFile(std::size_t bytes, int seals = F_SEAL_SHRINK)
        : file_{::memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING)}, bytes_{bytes}
    {
        if (::ftruncate(file_.get(), static_cast<off_t>(bytes)) != 0 || ::fcntl(file_.get(), F_ADD_SEALS, seals) != 0)
            throw std::runtime_error{"memfd"};
        void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_.get(), 0);
        if (memory == MAP_FAILED)
            throw std::runtime_error{"mmap"};
        memory_ = static_cast<std::byte*>(memory);
    }
    ~SharedFile() { ::munmap(memory_, bytes_); }
    SharedFile(const SharedFile&) = delete;
    SharedFile& operator=(const SharedFile&) = delete;

    [[nodiscard]] int fd() const { return file_.get(); }
    [[nodiscard]] std::span<std::byte> bytes() const { return {memory_, bytes_}; }
    [[nodiscard]] std::byte& operator[](std::size_t at) const { return memory_[at]; }

  private:
    FileDescriptor file_;
    std::byte* memory_ = nullptr;
    std::size_t bytes_;
};

} // namespace mrz::test
