// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Where the packets of a pool lie.
#pragma once

#include <mrzone/plan.hpp>

#include <rte_mempool.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace mrz::testpmd {

//! Bytes side by side in virtual addresses.
struct MemoryPiece {
    std::uintptr_t address = 0;
    std::size_t length = 0;

    [[nodiscard]] std::uintptr_t end() const noexcept { return address + length; }
    friend bool operator==(const MemoryPiece&, const MemoryPiece&) = default;
};

//! Rounded to whole pages, sorted, and those that touch or overlap made one: what is registered to reach them all.
std::vector<MemoryPiece> whole_pages(std::vector<MemoryPiece> pieces, std::size_t page_size);

//! The memory that a pool's objects lie in.
std::vector<MemoryPiece> object_memory(rte_mempool& pool);
//! The memory that packets' data lie in: apart from the objects where \p external.
std::vector<MemoryPiece> data_memory(rte_mempool& pool, bool external);

//! Bytes of a page of EAL memory at an address, or of the machine's pages where the EAL does not know it.
std::size_t page_size_at(std::uintptr_t address);

//! What keys over the pieces cost, one for each.
struct PiecesCost {
    std::size_t pages = 0;
    std::size_t page_size = 0;
    bool frames_known = true; //!< Else it is what can be promised.
    std::vector<Plan> plans = {};

    [[nodiscard]] std::uint64_t entries() const noexcept;
};
//! \p pieces are whole pages, all touched. Throws Error as read_frames() and make_plan().
PiecesCost cost_of(std::span<const MemoryPiece> pieces, std::size_t page_size, const Limits& limits);

} // namespace mrz::testpmd
