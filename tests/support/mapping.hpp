// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Private anonymous memory for the life of an object.
#pragma once

#include <cstddef>
#include <span>
#include <stdexcept>

#include <sys/mman.h>

namespace mrz::test {

class Mapping {
  public:
    explicit Mapping(std::size_t length, int flags = 0)
        : address_{::mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0)},
          length_{length}
    {
        if (address_ == MAP_FAILED)
            throw std::runtime_error{"cannot map memory for the test"};
    }
    Mapping(const Mapping&) = delete;
    Mapping& operator=(const Mapping&) = delete;
    ~Mapping() { ::munmap(address_, length_); }
    [[nodiscard]] std::span<std::byte> bytes() const { return {static_cast<std::byte*>(address_), length_}; }

  private:
    void* address_;
    std::size_t length_;
};

} // namespace mrz::test
