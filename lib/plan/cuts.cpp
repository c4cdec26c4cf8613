// SPDX-License-Identifier: BSD-3-Clause
#include "cuts.hpp"

#include "cut_walk.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace mrz {
namespace {

class Search {
  public:
    Search(const MemoryRuns& memory, std::size_t places, const Limits& limits, const KeyCosts& costs)
        : memory_{memory}, ends_{memory, limits}, costs_{costs}, cost_(places, Partition::unreachable), from_(places)
    {
        cost_[0] = 0;
        for (const unsigned shift : deciding_shifts(memory, limits)) {
            levels_.push_back({.grid = {.shift = shift}});
            levels_.back().grid.restart(memory.runs().front());
        }
    }

    void enter(std::size_t run)
    {
        const unsigned joint = memory_.joint(run);
        for (auto level = levels_.rbegin(); level != levels_.rend() && level->grid.shift > joint; ++level) {
            level->grid.restart(memory_.runs()[run]);
            level->value = none;
        }
    }

    void close(std::size_t index, Place place, const Run& run)
    {
        std::int64_t least = Partition::unreachable;
        std::uint32_t from = 0;
        for (const Level& level : levels_) {
            if (level.value == none || !ends_.may_end(level.grid.shift, place, run))
                continue;
            const std::int64_t cost = level.value + entries(level.grid.cell_after(place));
            if (cost < least) {
                least = cost;
                from = level.from;
            }
        }
        cost_[index] = least;
        from_[index] = from;
    }

    void open(std::size_t index, Place place, const Run& run)
    {
        if (cost_[index] == Partition::unreachable)
            return;
        const std::int64_t base = cost_[index] + costs_.key + costs_.piece;
        for (Level& level : levels_) {
            if (!level.grid.open || !ends_.may_begin(level.grid.shift, place, run))
                continue;
            const std::int64_t value = base - entries(level.grid.cell(place));
            if (value < level.value) {
                level.value = value;
                level.from = static_cast<std::uint32_t>(index);
            }
        }
    }

    [[nodiscard]] std::optional<Partition> result(std::span<const Place> places) const
    {
        if (cost_.back() == Partition::unreachable)
            return std::nullopt;
        Partition partition{.begins = {}, .cost = cost_.back()};
        for (std::size_t at = places.size() - 1; at != 0; at = from_[at])
            partition.begins.push_back(places[from_[at]]);
        std::reverse(partition.begins.begin(), partition.begins.end());
        return partition;
    }

  private:
    static constexpr std::int64_t none = std::numeric_limits<std::int64_t>::max();

    // The open key of one shift that is the cheapest wherever it ends.
    struct Level {
        Grid grid;
        std::int64_t value = none; // cost up to its beginning, and its own, less the entries before it
        std::uint32_t from = 0;
    };

    [[nodiscard]] std::int64_t entries(std::uint64_t count) const
    {
        return costs_.entry * static_cast<std::int64_t>(count);
    }

    const MemoryRuns& memory_;
    RuleOfEnds ends_;
    KeyCosts costs_;
    std::vector<Level> levels_;
    std::vector<std::int64_t> cost_;
    std::vector<std::uint32_t> from_;
};

} // namespace

std::vector<unsigned> shifts_of_joints(const MemoryRuns& memory, const Limits& limits)
{
    const unsigned most = limits.max_page_shift.value();
    std::uint64_t wanted = std::uint64_t{1} << most;
    for (std::size_t i = 0; i < memory.runs().size(); ++i) {
        if (i != 0)
            wanted |= std::uint64_t{1} << std::min(memory.joint(i), most);
        wanted |= std::uint64_t{1} << std::min(memory.runs()[i].congruence, most);
    }
    std::vector<unsigned> shifts;
    for (unsigned shift = limits.min_page_shift.value(); shift <= most; ++shift)
        if ((wanted >> shift & 1) != 0)
            shifts.push_back(shift);
    return shifts;
}

std::vector<unsigned> deciding_shifts(const MemoryRuns& memory, const Limits& limits)
{
    if (limits.rule == PageSizeRule::memory_region && !has_long_runs(memory, limits))
        return shifts_of_joints(memory, limits);
    std::vector<unsigned> shifts(limits.max_page_shift.value() - limits.min_page_shift.value() + 1);
    std::iota(shifts.begin(), shifts.end(), limits.min_page_shift.value());
    return shifts;
}

std::optional<Partition> cheapest_partition(const MemoryRuns& memory, std::span<const Place> places,
                                            const Limits& limits, const KeyCosts& costs)
{
    Search search{memory, places.size(), limits, costs};
    walk(memory, places, search);
    return search.result(places);
}

} // namespace mrz
