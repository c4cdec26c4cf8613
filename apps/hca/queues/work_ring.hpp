// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Rings of work in the guest's memory.
#pragma once

#include "dma/pages.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace mrz::queues {

//! A power of two of entries of one size, and how many the guest ever put there. Where it lies is fixed; what it says
//! is the guest's word, and may change while it is looked at.
class WorkRing {
  public:
    WorkRing() = default;
    //! The ring begins \p offset bytes into \p pages. Its counter, of 16 bits, is at \p record.
    WorkRing(dma::PageList pages, std::uint64_t offset, unsigned log_entries, unsigned log_entry_bytes,
             DmaAddress record)
        : pages_{std::move(pages)}, offset_{offset}, log_entries_{log_entries},
          log_entry_{log_entry_bytes}, record_{record}
    {
    }

    [[nodiscard]] std::uint32_t entries() const noexcept { return 1U << log_entries_; }
    [[nodiscard]] std::size_t entry_bytes() const noexcept { return std::size_t{1} << log_entry_; }

    //! How many entries the guest says that it ever put there, modulo 2^16; none if its memory is gone.
    [[nodiscard]] std::optional<std::uint16_t> produced(dma::Bus& bus) const noexcept;
    //! Copies from entry \p index on, modulo their number, as many bytes as there is room for; what lies behind the
    //! end of the ring goes on at its beginning. False if its memory is gone.
    [[nodiscard]] bool read(dma::Bus& bus, std::uint32_t index, std::span<std::byte> into) const noexcept;

  private:
    dma::PageList pages_;
    std::uint64_t offset_ = 0;
    unsigned log_entries_ = 0;
    unsigned log_entry_ = 6;
    DmaAddress record_;
};

} // namespace mrz::queues
