// SPDX-License-Identifier: BSD-3-Clause
// Where to cut memory so that direct keys over its parts cost least: dynamic programming from left to right over the
// places at which it may be cut.
//
// A key of shift s may reach over a joint of runs only if both runs meet it at multiples of 2^s, and its entries are
// the cells of 2^s that it touches, counted on a grid that all runs between two joints of lower shift share. So for
// each shift the best key that is open depends only on the cost up to its beginning less the cells before it: one
// value a shift, dropped at each joint that is too low. A kernel takes the largest page that it can; as its grid is
// part of every finer one that gives the fewest entries, the minimum over all shifts.
#pragma once

#include "memory_runs.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace mrz {

//! What direct keys cost. A piece is what one entry of an indirect key covers; keys side by side have none.
struct KeyCosts {
    std::int64_t key = 0;   //!< Each.
    std::int64_t entry = 0; //!< Each MTT entry.
    std::int64_t piece = 0; //!< Each piece.
    //! The longest piece, in bytes; 0 if every key is one piece.
    std::uint64_t max_piece = 0;
    std::optional<std::uint64_t> max_pieces = {};
};

//! Direct keys over everything.
struct Partition {
    std::vector<Place> begins; //!< Where each key begins, ascending from 0.
    std::int64_t cost = 0;

    static constexpr std::int64_t unreachable = std::int64_t{1} << 62;
};

//! The cheapest way to cover everything with cuts at joints of runs, with keys by ibv_reg_mr's rule, and looking at
//! neither the longest segment and most entries in the limits nor the longest piece and most pieces in the costs:
//! each key is one piece. Nothing costs less, whatever the rule and the limits.
struct JointCosts {
    //! The least cost up to the beginning of each run, and up to the end; `unreachable` if there is no way.
    std::vector<std::int64_t> up_to;
    //! Of each run and the end, the run that the last key up to there begins at.
    std::vector<std::uint32_t> from;

    [[nodiscard]] std::int64_t cost() const { return up_to.back(); }
    //! The keys, if cost() is not `unreachable`.
    [[nodiscard]] Partition partition(const MemoryRuns& memory) const;
};
JointCosts cheapest_over_joints(const MemoryRuns& memory, const Limits& limits, const KeyCosts& costs);

//! The cheapest partition with cuts at some of \p places, which ascend from 0 to the end of the memory. Looks at the
//! rule but at none of the limits that cheapest_over_joints() leaves out. None if there is none.
std::optional<Partition> cheapest_partition(const MemoryRuns& memory, std::span<const Place> places,
                                            const Limits& limits, const KeyCosts& costs);

//! The same with all of these kept, or that the search was too long for a plan that is to come soon.
struct LimitedSearch {
    bool complete = true;
    std::optional<Partition> partition = {};
};
LimitedSearch cheapest_partition_within(const MemoryRuns& memory, std::span<const Place> places, const Limits& limits,
                                        const KeyCosts& costs);

//! How many pieces a key from one place to another has.
inline std::uint64_t pieces_of(std::uint64_t length, std::uint64_t max_piece)
{
    return max_piece == 0 ? 1 : (length - 1) / max_piece + 1;
}

} // namespace mrz
