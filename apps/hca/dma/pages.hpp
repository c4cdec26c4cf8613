// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Memory of the guest that a driver described as a list of pages.
#pragma once

#include "dma/dma.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace mrz::dma {

//! A range of bytes that lies in pages of one size, anywhere. It begins \p offset bytes into the first page and
//! reaches to the end of the last.
class PageList {
  public:
    PageList() = default;
    //! Throws Error (invalid, EINVAL) for a page shift of more than 63, for more than 2^64 - 1 bytes, and for an
    //! offset that is not inside of the first page. The low bits of the pages are taken as they are.
    PageList(std::vector<DmaAddress> pages, unsigned page_shift, std::uint64_t offset);

    [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
    [[nodiscard]] std::span<const DmaAddress> pages() const noexcept { return pages_; }
    [[nodiscard]] unsigned page_shift() const noexcept { return page_shift_; }
    [[nodiscard]] std::uint64_t offset() const noexcept { return offset_; }

    //! Where byte \p at is; none if it is not in the range.
    [[nodiscard]] std::optional<DmaAddress> address(std::uint64_t at) const noexcept;
    //! As dma::read() and dma::write(); false also where it is not all in the range.
    [[nodiscard]] bool read(Bus& bus, std::uint64_t at, std::span<std::byte> into) const noexcept;
    [[nodiscard]] bool write(Bus& bus, std::uint64_t at, std::span<const std::byte> from) const noexcept;

  private:
    [[nodiscard]] bool holds(std::uint64_t at, std::size_t length) const noexcept;
    [[nodiscard]] std::size_t left_in_page(std::uint64_t at, std::size_t most) const noexcept;

    std::vector<DmaAddress> pages_;
    unsigned page_shift_ = 0;
    std::uint64_t offset_ = 0;
    std::uint64_t bytes_ = 0;
};

} // namespace mrz::dma
