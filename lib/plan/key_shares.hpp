// SPDX-License-Identifier: BSD-3-Clause
// Which orders of whole blocks get a key, and how many pages each holds.
#pragma once

#include "key_groups.hpp"
#include "run_blocks.hpp"

#include <cstdint>
#include <limits>
#include <vector>

namespace mrz {

inline constexpr std::uint64_t never = std::numeric_limits<std::uint64_t>::max();

// Blocks of one order for one key.
struct Share {
    unsigned order = 0;
    std::uint64_t pages = 0;
};

struct Shares {
    std::uint64_t cost = never;
    std::vector<Share> shares; // orders descending
};

class ShareChoice {
  public:
    explicit ShareChoice(const GroupTerms& terms) : terms_{terms} {}

    //! What a key over so many pages costs, with its entries in the key above.
    [[nodiscard]] std::uint64_t group_cost(std::uint64_t pages, std::uint64_t entries) const;
    //! A shortest path over orders: those passed take all of their blocks, the last is cut. `required` orders, one
    //! bit each, are there in any case, though they have no block.
    [[nodiscard]] Shares shares(const Blocks& blocks, std::uint64_t need, std::uint64_t required = 0) const;
    //! The same under the umem rule: the pages of a key are a multiple of its order's.
    [[nodiscard]] Shares exact_shares(const Blocks& blocks, std::uint64_t need) const;

  private:
    const GroupTerms& terms_;
};

} // namespace mrz
