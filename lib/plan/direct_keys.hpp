// SPDX-License-Identifier: BSD-3-Clause
// The cheapest direct keys over a layout, whatever limits bind.
#pragma once

#include "cuts.hpp"
#include "memory_runs.hpp"
#include "one_key.hpp"

#include <mrzone/plan.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace mrz {

//! What direct keys are wanted for.
struct DirectKeys {
    const Layout& layout;
    const MemoryRuns& memory; //!< Of that layout and iova.
    const Limits& limits;
    std::optional<Iova> iova; //!< Which each key keeps to, plus its offset; none if each may choose.
};

//! The key from one place to another. Check with obeys() whether there can be one.
PlannedKey direct_key(const DirectKeys& wanted, Place begin, Place end);
//! Whether the device has that page size and lets a key have so many entries.
bool obeys(const PlannedKey& key, const Limits& limits);

//! None if there are no such keys.
struct DirectSolution {
    std::optional<Partition> partition = {};
    std::uint64_t pieces = 0;
    bool proven = true; //!< Whether there is nothing cheaper, or nothing.
};

//! \p over_joints: what cheapest_over_joints() says of the same.
//! \p below: what costs as much or more is not wanted, and may be left out.
DirectSolution cheapest_direct_keys(const DirectKeys& wanted, const KeyCosts& costs, const JointCosts& over_joints,
                                    std::int64_t below);

} // namespace mrz
