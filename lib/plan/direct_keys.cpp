// SPDX-License-Identifier: BSD-3-Clause
#include "direct_keys.hpp"

#include "cut_places.hpp"

#include <algorithm>
#include <utility>

namespace mrz {
namespace {

// Some tenths of a second's work.
constexpr std::uint64_t most_units = std::uint64_t{1} << 21;

class Solver {
  public:
    Solver(const DirectKeys& wanted, const KeyCosts& costs, const JointCosts& over_joints, std::int64_t below)
        : wanted_{wanted}, costs_{costs}, over_joints_{over_joints}, below_{below}
    {
    }

    [[nodiscard]] DirectSolution solve() const
    {
        if (over_joints_.cost() == Partition::unreachable ||
            (costs_.max_piece != 0 && pieces_of(length(0, memory().end()), costs_.max_piece) > most_pieces()))
            return {};
        // Without the limits first. What obeys them anyway is the cheapest of those that do.
        if (!long_runs_) {
            std::optional<Partition> free = unlimited(costs_);
            if (!free)
                return {};
            if (keeps_limits(*free) && pieces(*free) <= most_pieces())
                return solution(std::move(*free), true);
        }
        // Moving cuts as places_that_suffice() does leaves the number of keys, and so of pieces if none can be too
        // long.
        const bool only_count = !long_runs_ && !limits().max_mtt_entries &&
                                (costs_.max_piece == 0 || length(0, memory().end()) <= costs_.max_piece);
        const unsigned unit = unit_shift(memory(), limits(), costs_.max_piece);
        if (only_count || memory().end() >> unit <= most_units) {
            const std::vector<Place> places =
                only_count ? places_that_suffice(memory(), limits()) : places_at_units(memory(), unit);
            // Few are kept from having as many pieces as they like, and to look for those that are takes longer.
            KeyCosts costs = costs_;
            costs.max_pieces.reset();
            LimitedSearch search = cheapest_partition_within(memory(), places, limits(), costs);
            DirectSolution cheapest = solution(std::move(search.partition), true);
            if (search.complete && (!cheapest.partition || cheapest.pieces <= most_pieces()))
                return cheapest;
            if (search.complete && cheapest.partition->cost >= below_)
                return {};
            search = cheapest_partition_within(memory(), places, limits(), costs_);
            if (search.complete)
                return solution(std::move(search.partition), true);
        }
        return approximate();
    }

  private:
    [[nodiscard]] const MemoryRuns& memory() const { return wanted_.memory; }
    [[nodiscard]] const Limits& limits() const { return wanted_.limits; }
    [[nodiscard]] std::uint64_t most_pieces() const { return costs_.max_pieces.value_or(~std::uint64_t{0}); }

    [[nodiscard]] std::optional<Partition> unlimited(const KeyCosts& costs) const
    {
        if (limits().rule == PageSizeRule::umem)
            return cheapest_partition(memory(), places_that_suffice(memory(), limits()), limits(), costs);
        if (costs.piece == costs_.piece)
            return over_joints_.partition(memory());
        return cheapest_over_joints(memory(), limits(), costs).partition(memory());
    }

    [[nodiscard]] std::uint64_t length(Place begin, Place end) const
    {
        return memory().bytes_before(end) - memory().bytes_before(begin);
    }

    [[nodiscard]] Place end_of(const Partition& partition, std::size_t key) const
    {
        return key + 1 < partition.begins.size() ? partition.begins[key + 1] : memory().end();
    }

    // All but the most pieces.
    [[nodiscard]] bool keeps_limits(const Partition& partition) const
    {
        const bool pieces_cost = costs_.piece != 0 || costs_.max_pieces;
        for (std::size_t i = 0; i < partition.begins.size(); ++i) {
            const Place begin = partition.begins[i];
            const Place end = end_of(partition, i);
            if (pieces_cost && costs_.max_piece != 0 && length(begin, end) > costs_.max_piece)
                return false;
            if (limits().max_mtt_entries && !obeys(direct_key(wanted_, begin, end), limits()))
                return false;
        }
        return true;
    }

    [[nodiscard]] std::uint64_t pieces(const Partition& partition) const
    {
        std::uint64_t sum = 0;
        for (std::size_t i = 0; i < partition.begins.size(); ++i)
            sum += pieces_of(length(partition.begins[i], end_of(partition, i)), costs_.max_piece);
        return sum;
    }

    [[nodiscard]] DirectSolution solution(std::optional<Partition> partition, bool proven) const
    {
        DirectSolution solution{.partition = std::move(partition), .pieces = 0, .proven = proven};
        if (solution.partition)
            solution.pieces = pieces(*solution.partition);
        return solution;
    }

    // The layout has too many places for the exact search: cuts at some only, and if there are too many pieces, a
    // price on them that makes them few enough. What has just the most pieces is the cheapest of those with as many
    // or fewer, if it was the cheapest at that price. And the cheapest at a price, less the price of the most pieces,
    // is what any costs at least: if that is too much already, none is wanted.
    [[nodiscard]] DirectSolution approximate() const
    {
        DirectSolution best = at_price(costs_.piece);
        if (!best.partition || best.pieces <= most_pieces())
            return best;
        const std::int64_t ceiling = Partition::unreachable / 4 / static_cast<std::int64_t>(memory().end() / 4096);
        std::int64_t low = costs_.piece; // has too many
        std::int64_t high = 0;           // has not; 0 if none is known yet
        best = {.partition = {}, .pieces = 0, .proven = false};
        for (int tries = 0; tries < 24 && (high == 0 || high - low > 1); ++tries) {
            const std::int64_t price = high == 0 ? std::min(2 * low + 1, ceiling) : low + (high - low) / 2;
            const std::int64_t above = price - costs_.piece;
            if (price <= low)
                break;
            if (at_least(price, above) >= below_)
                return {};
            DirectSolution priced = at_price(price);
            if (!priced.partition)
                break;
            if (priced.pieces > most_pieces()) {
                low = price;
                continue;
            }
            high = price;
            priced.partition->cost -= above * static_cast<std::int64_t>(priced.pieces);
            priced.proven = priced.proven && priced.pieces == most_pieces();
            best = std::move(priced);
            if (best.proven)
                break;
        }
        return best;
    }

    [[nodiscard]] std::int64_t at_least(std::int64_t price, std::int64_t above) const
    {
        KeyCosts costs = costs_;
        costs.piece = price;
        // More pieces than pages make no difference, but might pass the range of numbers.
        const std::uint64_t most = std::min(most_pieces(), memory().end() / 4096);
        return cheapest_over_joints(memory(), limits(), costs).cost() - above * static_cast<std::int64_t>(most);
    }

    [[nodiscard]] DirectSolution at_price(std::int64_t piece) const
    {
        KeyCosts costs = costs_;
        costs.piece = piece;
        costs.max_pieces.reset();
        if (!long_runs_)
            if (std::optional<Partition> free = unlimited(costs); free && keeps_limits(*free))
                return solution(std::move(free), true);
        LimitedSearch search =
            cheapest_partition_within(memory(), places_within_limits(memory(), limits()), limits(), costs);
        return solution(std::move(search.partition), false);
    }

    const DirectKeys& wanted_;
    const KeyCosts& costs_;
    const JointCosts& over_joints_;
    std::int64_t below_;
    bool long_runs_ = has_long_runs(wanted_.memory, wanted_.limits);
};

} // namespace

PlannedKey direct_key(const DirectKeys& wanted, Place begin, Place end)
{
    const std::uint64_t head = wanted.memory.head();
    const std::size_t offset = begin == 0 ? 0 : begin - head;
    const std::size_t last = end == wanted.memory.end() ? wanted.layout.length() : end - head;
    const Part part{wanted.layout, offset, last - offset};
    if (wanted.iova)
        return plan_one_key(part, *wanted.iova + offset, wanted.limits);
    // There is room: no layout that is cut is longer than 2^62 bytes.
    return plan_one_key(part, best_iova(part, wanted.limits).value_or(Iova{}), wanted.limits);
}

bool obeys(const PlannedKey& key, const Limits& limits)
{
    return is_possible(key, limits) && (!limits.max_mtt_entries || key.entries <= *limits.max_mtt_entries);
}

DirectSolution cheapest_direct_keys(const DirectKeys& wanted, const KeyCosts& costs, const JointCosts& over_joints,
                                    std::int64_t below)
{
    return Solver{wanted, costs, over_joints, below}.solve();
}

} // namespace mrz
