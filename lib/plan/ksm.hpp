// SPDX-License-Identifier: BSD-3-Clause
// KSM keys: indirect ones whose entries cut their memory at multiples of one power of two.
#pragma once

#include "cuts.hpp"
#include "direct_keys.hpp"

#include <mrzone/plan.hpp>

#include <cstdint>
#include <optional>

namespace mrz {

struct KsmWanted {
    const DirectKeys& direct;      //!< Keys that choose their own iova.
    std::optional<Iova> iova;      //!< Of the indirect key; none if it may choose.
    KeyCosts costs;                //!< Of the direct keys and, as `piece`, of an entry; `max_piece` is a KLM entry's.
    std::int64_t below;            //!< What the whole has to cost less than.
    const JointCosts& over_joints; //!< Of the direct keys, each with one piece.
    //! Whether there is a KLM key for the same; then `below` is at most one more than the cheapest costs.
    bool klm = false;
};

struct KsmSolution {
    std::optional<Partition> partition = {};
    unsigned shift = 12; //!< Of the entries.
    Place first = 0;     //!< Where the second entry begins, or would if there were one.
    std::int64_t cost = 0;
    bool proven = true; //!< Whether nothing cheaper was left out.
};

KsmSolution cheapest_ksm(const KsmWanted& wanted);

} // namespace mrz
