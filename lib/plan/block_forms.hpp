// SPDX-License-Identifier: BSD-3-Clause
// The pages of one direct key with the fewest entries, by size of entry.
#pragma once

#include "pool_blocks.hpp"

#include <mrzone/plan.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace mrz {

// How a block is made of DMA space cut into aligned chunks of the size of one translation entry. Any key at that size
// looks like this: an entry maps into one chunk, the first and the last may map part of one, all others a whole one.
enum class Form {
    inside,          // part of one chunk that is not whole
    whole,           // whole chunks
    tail_head_more,  // the tail of one, whole ones, the head of one: together a chunk more than the remainder
    whole_and_piece, // whole ones, and the remainder as the tail before or the head after them
    tail_head,       // the tail of one, whole ones, the head of one: together the remainder
};

struct Choice {
    Form form = Form::whole;
    unsigned shift = 0;
    std::uint64_t entries = 0; // at pages of 2^shift
};

// The choices that there are in a pool, one for each size of entry.
class BlockForms {
  public:
    BlockForms(const PoolBlocks& pool, PageShift page, std::size_t count, const Limits& limits);

    // The choice with the fewest entries, and of equals the one that asks least of the address.
    [[nodiscard]] std::optional<Choice> best() const;
    // The one for pages of 2^shift.
    [[nodiscard]] std::optional<Choice> at(unsigned shift) const;
    // The pages of a choice, in virtual order.
    [[nodiscard]] std::vector<PageRun> pieces(const Choice& choice) const;

    [[nodiscard]] unsigned smallest() const noexcept { return smallest_; }
    [[nodiscard]] unsigned largest() const noexcept { return largest_; }

  private:
    const PoolBlocks& pool_;
    PageShift page_;
    std::size_t count_;
    const Limits& limits_;
    unsigned smallest_;
    unsigned largest_;
};

} // namespace mrz
