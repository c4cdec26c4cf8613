// SPDX-License-Identifier: BSD-3-Clause
// Pages for several direct keys under one indirect key. Numbers here count pages, as in pool_blocks.hpp; order o
// stands for blocks of 2^o pages.
#pragma once

#include "pool_blocks.hpp"

#include <mrzone/plan.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace mrz {

//! What keys are chosen by.
struct GroupTerms {
    std::uint64_t count = 0;   //!< Pages to choose.
    Weights weights = {};      //!< `indirect` is what one entry of the key above costs.
    unsigned smallest = 0;     //!< Order of the device's smallest page, at least 0.
    unsigned largest = 0;      //!< Order of its largest.
    std::uint64_t max_klm = 0; //!< Pages of one indirect entry, at least 1.
    bool parts = true;         //!< Whether a key may begin or end within one of its pages: not under the umem rule.
    bool free_iovas = true;    //!< Whether each key has an iova of its own: not side by side.
};

//! One direct key: its pages in virtual order.
struct KeyGroup {
    std::vector<PageRun> pieces;
};

struct KeyGroups {
    std::vector<KeyGroup> keys;
    std::uint64_t cost = 0; //!< Without an indirect key over them.
};

//! Keys over `count` pages that cost little together: one for the blocks of each of some orders, with a part of a
//! block before and after them; and one each for some runs. None if there are not enough whole blocks.
//!
//! An entry costs the same whatever it covers, and a key the same whatever it holds. So, for keys of given orders,
//! all blocks of the larger order are taken before any of the next, and the last is cut; the orders are a shortest
//! path. A run that is a key of its own costs one entry and one key whatever its length and place. Which runs are
//! worth it depends on the price of a page, and that on the orders: they are chosen in turn, until neither gets
//! cheaper.
std::optional<KeyGroups> choose_groups(std::span<const PageRun> runs, const GroupTerms& terms);

} // namespace mrz
