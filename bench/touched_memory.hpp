// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Memory of a kind of pages, all of which are there: what subjects that do not take memory work on.
#pragma once

#include <cstddef>
#include <span>

namespace bench {

enum class Pages {
    small,       //!< 4 KiB, for certain.
    transparent, //!< What the kernel makes of 4-KiB pages by itself if it is asked (THP).
    huge_2m,
    huge_1g,
};
//! "4K", "THP", "2M", "1G".
const char* name(Pages pages) noexcept;

class TouchedMemory {
  public:
    //! \p length bytes; of pages of 1 GiB at most one, which is the same one for all.
    //! Throws Unavailable if this machine has no such pages to give.
    TouchedMemory(Pages pages, std::size_t length);
    TouchedMemory(const TouchedMemory&) = delete;
    TouchedMemory& operator=(const TouchedMemory&) = delete;
    ~TouchedMemory();

    [[nodiscard]] std::span<std::byte> bytes() const noexcept { return bytes_; }
    //! How much of it lies in transparent hugepages, in percent.
    [[nodiscard]] double transparent_percent() const;

  private:
    std::span<std::byte> mapping_; //!< What is to be unmapped.
    std::span<std::byte> bytes_;
};

} // namespace bench
