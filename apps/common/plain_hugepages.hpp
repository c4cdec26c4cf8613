// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Hugepages without DPDK or the library.
#pragma once

#include <cstddef>
#include <span>

namespace mrz::app {

//! Hugepages as mmap gives them to anyone (MAP_HUGETLB), all touched.
class PlainHugepages {
  public:
    //! Throws Error: hugepages, or unsupported (before Linux 5.14).
    PlainHugepages(std::size_t size, std::size_t page_size);
    ~PlainHugepages();
    PlainHugepages(const PlainHugepages&) = delete;
    PlainHugepages& operator=(const PlainHugepages&) = delete;

    [[nodiscard]] std::span<std::byte> bytes() const noexcept { return {static_cast<std::byte*>(address_), size_}; }

  private:
    void* address_;
    std::size_t size_;
};

} // namespace mrz::app
