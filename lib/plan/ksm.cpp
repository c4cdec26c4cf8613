// SPDX-License-Identifier: BSD-3-Clause
#include "ksm.hpp"

#include "cut_places.hpp"

#include <algorithm>
#include <utility>

namespace mrz {
namespace {

// Of all entry sizes and places where the first entry may end. Beside a KLM key a KSM key is a matter of taste.
constexpr std::uint64_t most_work = std::uint64_t{1} << 24;
constexpr std::uint64_t most_work_for_taste = std::uint64_t{1} << 19;

class Search {
  public:
    explicit Search(const KsmWanted& wanted) : wanted_{wanted}, below_{wanted.below}
    {
        direct_costs_ = wanted.costs;
        direct_costs_.piece = 0;
        direct_costs_.max_piece = 0;
        direct_costs_.max_pieces.reset();
        unit_ = unit_shift(memory(), limits(), 0);
    }

    KsmSolution find() &&
    {
        const IndirectLimits& indirect = limits().indirect;
        for (unsigned shift = indirect.max_ksm_shift.value(); shift >= indirect.min_ksm_shift.value(); --shift) {
            // Smaller entries are more entries.
            const std::uint64_t fewest = memory().end() >> shift;
            if (fewest > wanted_.costs.max_pieces.value_or(~std::uint64_t{0}) || at_least(fewest) >= below_)
                break;
            try_shift(shift);
        }
        if (best_.partition)
            shrink();
        return std::move(best_);
    }

  private:
    [[nodiscard]] const MemoryRuns& memory() const { return wanted_.direct.memory; }
    [[nodiscard]] const Limits& limits() const { return wanted_.direct.limits; }
    [[nodiscard]] std::int64_t of_entries(std::uint64_t count) const
    {
        return wanted_.costs.piece * static_cast<std::int64_t>(count);
    }
    // What a KSM key over one direct key of one entry costs, and so the least of all.
    [[nodiscard]] std::int64_t at_least(std::uint64_t entries) const
    {
        return 2 * wanted_.costs.key + wanted_.costs.entry + of_entries(entries);
    }
    [[nodiscard]] std::uint64_t entries(unsigned shift, Place first) const
    {
        return first >= memory().end() ? 1 : ((memory().end() - 1 - first) >> shift) + 2;
    }

    // Under a KLM key whose entries may be twice as long, a direct key of several entries has fewer. So beside a KLM
    // key, each entry has to be a direct key of its own.
    [[nodiscard]] bool only_alone(unsigned shift) const
    {
        return wanted_.klm && wanted_.costs.piece > 0 && std::uint64_t{2} << shift <= wanted_.costs.max_piece;
    }

    void try_shift(unsigned shift)
    {
        const std::uint64_t entry = std::uint64_t{1} << shift;
        if (wanted_.iova) {
            const std::uint64_t start = wanted_.iova->value() - memory().head();
            if (start % 4096 == 0 && afford(shift, 1)) // else no entry ends between two pages
                try_first(shift, (entry - start % entry) % entry);
            return;
        }
        // Cuts may be moved down to units together, as each alone: see unit_shift(). An entry that covers everything
        // is for an iova that was asked for; without one the direct key does as well alone.
        const std::uint64_t step = std::uint64_t{1} << std::min(unit_, shift);
        const std::uint64_t end = std::min(entry, memory().end());
        if (afford(shift, (end - 1) / step + 1))
            for (Place first = 0; first < end; first += step)
                try_first(shift, first);
        else if (!best_.proven)
            try_first(shift, 0);
    }

    // Whether there is time to look at the runs between two places. Only for what is a matter of taste.
    bool spend(Place begin, Place end)
    {
        const std::size_t work = run_at(end - 1) - run_at(begin) + 1;
        if (work > left_)
            return false;
        left_ -= work;
        return true;
    }

    // Whether there is time to try so many first places; if not, and something cheaper might be left out, says so.
    bool afford(unsigned shift, std::uint64_t firsts)
    {
        const std::uint64_t entries = (memory().end() >> shift) + 1;
        const std::uint64_t runs = memory().runs().size();
        if (only_alone(shift))
            return firsts * (runs / entries + 1) <= left_; // and each look is paid by itself
        const std::uint64_t work = firsts * (runs + entries);
        if (work <= left_) {
            left_ -= work;
            return true;
        }
        if (!wanted_.klm || std::uint64_t{1} << shift > wanted_.costs.max_piece)
            best_.proven = false;
        return false;
    }

    void try_first(unsigned shift, Place first)
    {
        if (first == 0)
            first = std::uint64_t{1} << shift;
        const std::uint64_t count = entries(shift, first);
        if (count > wanted_.costs.max_pieces.value_or(~std::uint64_t{0}) || at_least(count) >= below_)
            return;
        if (only_alone(shift))
            try_alone(shift, first, count);
        else
            try_joined(shift, first, count);
    }

    void take(Partition partition, unsigned shift, Place first, std::int64_t cost)
    {
        below_ = cost;
        best_.partition = std::move(partition);
        best_.shift = shift;
        best_.first = first;
        best_.cost = cost;
    }

    // Of entries that are as many, the smallest.
    void shrink()
    {
        const std::uint64_t count = entries(best_.shift, best_.first);
        while (best_.shift > limits().indirect.min_ksm_shift.value()) {
            const std::uint64_t half = std::uint64_t{1} << (best_.shift - 1);
            const Place first = best_.first > half ? best_.first - half : best_.first;
            if (entries(best_.shift - 1, first) != count)
                return;
            --best_.shift;
            best_.first = first;
        }
    }

    void try_joined(unsigned shift, Place first, std::uint64_t count)
    {
        const std::vector<Place> places = places_in_steps(memory(), shift, first);
        std::optional<Partition> partition;
        if (limits().max_mtt_entries || limits().max_segment) {
            LimitedSearch search = cheapest_partition_within(memory(), places, limits(), direct_costs_);
            best_.proven = best_.proven && search.complete;
            partition = std::move(search.partition);
        } else {
            partition = cheapest_partition(memory(), places, limits(), direct_costs_);
        }
        if (!partition)
            return;
        const std::int64_t cost = partition->cost + wanted_.costs.key + of_entries(count);
        if (cost < below_)
            take(std::move(*partition), shift, first, cost);
    }

    // From the end to the start, so that what the rest costs at least is known, and most first places are soon done.
    void try_alone(unsigned shift, Place first, std::uint64_t count)
    {
        const std::int64_t each = wanted_.costs.key + wanted_.costs.entry + wanted_.costs.piece;
        std::int64_t cost = wanted_.costs.key;
        Partition partition;
        Place end = memory().end();
        for (std::uint64_t left = count; left > 0; --left) {
            const Place begin = left == 1 ? 0 : first + ((left - 2) << shift);
            if (!spend(begin, end))
                return;
            const PlannedKey key = direct_key(wanted_.direct, begin, end);
            if (!obeys(key, limits()))
                return;
            cost += wanted_.costs.key + wanted_.costs.piece +
                    wanted_.costs.entry * static_cast<std::int64_t>(key.entries);
            if (cost + std::max(each * static_cast<std::int64_t>(left - 1), rest_at_least(begin)) >= below_)
                return;
            partition.begins.push_back(begin);
            end = begin;
        }
        std::reverse(partition.begins.begin(), partition.begins.end());
        take(std::move(partition), shift, first, cost);
    }

    // What covers everything up to a place covers everything up to the joint before it, for no less.
    [[nodiscard]] std::int64_t rest_at_least(Place place) const { return wanted_.over_joints.up_to[run_at(place)]; }

    [[nodiscard]] std::size_t run_at(Place place) const
    {
        const std::vector<Run>& runs = memory().runs();
        const auto after = std::upper_bound(runs.begin(), runs.end(), place,
                                            [](Place at, const Run& run) { return at < run.begin; });
        return static_cast<std::size_t>(after - runs.begin()) - 1;
    }

    const KsmWanted& wanted_;
    KeyCosts direct_costs_;
    unsigned unit_ = 12;
    std::int64_t below_;
    std::uint64_t left_ = !wanted_.klm ? most_work : most_work_for_taste;
    KsmSolution best_;
};

} // namespace

KsmSolution cheapest_ksm(const KsmWanted& wanted)
{
    return Search{wanted}.find();
}

} // namespace mrz
