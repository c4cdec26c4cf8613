// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! The bus of the software adapter: from DMA addresses of registered memory to its bytes in this process.
#pragma once

#include <hca/bus.hpp>

#include <mrzone/base.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace mrz::soft {

//! A radix table as an MMU has one, with leaves of 1 GiB, 2 MiB and 4 KiB.
//!
//! Memory may be added any number of times, and at several virtual addresses: it answers until it was removed as
//! often. memory() takes no lock; add() and remove() are called while the engine is paused.
class ProcessBus : public hca::Bus {
  public:
    static constexpr std::uint64_t page = 4096;
    static constexpr unsigned address_bits = 57; //!< Of virtual addresses.
    static constexpr unsigned frame_bits = 52;   //!< Of physical ones, at most.

    ProcessBus();
    ProcessBus(const ProcessBus&) = delete;
    ProcessBus& operator=(const ProcessBus&) = delete;
    ~ProcessBus();

    std::span<std::byte> memory(DmaAddress at, std::uint64_t length, hca::Direction direction) noexcept override;

    //! Lets \p bytes answer at \p at and beyond; both, and \p length, are multiples of a page. Throws bad_alloc, or
    //! Error (invalid) beyond the table's addresses; nothing has changed then.
    void add(DmaAddress at, std::byte* bytes, std::uint64_t length);
    //! Takes back one add() of the same arguments.
    void remove(DmaAddress at, std::byte* bytes, std::uint64_t length) noexcept;

    //! Whether add() of the same arguments would leave no address from which other bytes answer, now or when
    //! something is removed.
    [[nodiscard]] bool agrees(DmaAddress at, const std::byte* bytes, std::uint64_t length) const noexcept;

    //! Whether nothing answers, and no table but the first is left.
    [[nodiscard]] bool empty() const noexcept;

  private:
    struct Node;
    //! A virtual address under which a block is known, and how often.
    struct Holder {
        std::byte* bytes;
        std::uint32_t count;
    };
    //! A block may be known as a whole and also in parts, by regions of different sizes: then the whole answers.
    struct Slot {
        std::byte* bytes = nullptr; // the one that answers
        std::uint32_t count = 0;    // how often that one was added
        std::unique_ptr<std::vector<Holder>> others;
        std::unique_ptr<Node> child;

        [[nodiscard]] bool empty() const noexcept { return bytes == nullptr && child == nullptr; }
    };

    static bool agrees(const Node& node, unsigned shift, std::uint64_t node_begin, std::uint64_t begin,
                       std::uint64_t end, std::uintptr_t offset) noexcept;
    static unsigned leaf_shift(std::uint64_t at, std::uint64_t length) noexcept;
    static void hold(Slot& slot, std::byte* bytes);
    static void let_go(Slot& slot, const std::byte* bytes) noexcept;
    void add_block(std::uint64_t at, unsigned shift, std::byte* bytes);
    static void remove_block(Node& node, unsigned node_shift, std::uint64_t at, unsigned shift,
                             const std::byte* bytes) noexcept;

    std::unique_ptr<Node> top_;
};

} // namespace mrz::soft
