// SPDX-License-Identifier: BSD-3-Clause
// The search of cuts.hpp where cuts at joints suffice: most plans need no other, so this one is quick.
#include "cuts.hpp"

#include "cut_walk.hpp"

#include <algorithm>

namespace mrz {
namespace {

// The cheapest key of one shift that reaches over the present joint, with all that it costs up to there.
struct OpenKey {
    unsigned shift = 12;
    std::int64_t cost = Partition::unreachable;
    std::uint32_t from = 0;
};

std::uint64_t cells(std::uint64_t dma, std::uint64_t length, unsigned shift)
{
    return ((dma + (length - 1)) >> shift) - (dma >> shift) + 1;
}

} // namespace

// A key that reaches over a joint starts a cell there, so a run behind it adds as many as it is long. A key that
// begins at a run takes the largest page while it ends there; of lower shifts it is worth a thought only at a joint
// that these reach over. So the work a run is in the shifts that reach over the joints at its ends, most of which are
// low.
JointCosts cheapest_over_joints(const MemoryRuns& memory, const Limits& limits, const KeyCosts& costs)
{
    const std::vector<Run>& runs = memory.runs();
    JointCosts result{.up_to = std::vector<std::int64_t>(runs.size() + 1, Partition::unreachable),
                      .from = std::vector<std::uint32_t>(runs.size() + 1)};
    result.up_to[0] = 0;
    std::vector<OpenKey> open;
    for (const unsigned shift : shifts_of_joints(memory, limits))
        open.push_back({.shift = shift});

    const auto least_shift = limits.min_page_shift.value();
    std::size_t reaching = 0; // so many of the open keys reach over the joint before the run
    for (std::size_t i = 0; i < runs.size(); ++i) {
        const Run& run = runs[i];
        const std::int64_t before = result.up_to[i];
        const std::int64_t begun = before + costs.key + costs.piece;
        const auto entries = [&costs](std::uint64_t count) { return costs.entry * static_cast<std::int64_t>(count); };

        std::int64_t least = Partition::unreachable;
        std::uint32_t from = 0;
        const unsigned largest = std::min(limits.max_page_shift.value(), run.congruence);
        const bool may_begin = before < Partition::unreachable && largest >= least_shift;
        if (may_begin) {
            least = begun + entries(cells(run.dma, run.length(), largest));
            from = static_cast<std::uint32_t>(i);
        }
        for (std::size_t k = 0; k < reaching; ++k) {
            OpenKey& key = open[k];
            key.cost += entries(((run.length() - 1) >> key.shift) + 1);
            if (key.cost < least) {
                least = key.cost;
                from = key.from;
            }
        }
        result.up_to[i + 1] = least;
        result.from[i + 1] = from;
        if (i + 1 == runs.size())
            break;

        const unsigned joint = memory.joint(i + 1);
        std::size_t k = 0;
        for (; k < open.size() && open[k].shift <= joint; ++k) {
            OpenKey& key = open[k];
            if (k >= reaching)
                key.cost = Partition::unreachable;
            if (!may_begin)
                continue;
            if (const std::int64_t cost = begun + entries(cells(run.dma, run.length(), key.shift)); cost < key.cost) {
                key.cost = cost;
                key.from = static_cast<std::uint32_t>(i);
            }
        }
        reaching = k;
    }
    return result;
}

Partition JointCosts::partition(const MemoryRuns& memory) const
{
    Partition partition{.begins = {}, .cost = cost()};
    for (std::size_t at = from.size() - 1; at != 0; at = from[at])
        partition.begins.push_back(memory.runs()[from[at]].begin);
    std::reverse(partition.begins.begin(), partition.begins.end());
    return partition;
}

} // namespace mrz
