// SPDX-License-Identifier: BSD-3-Clause
#include <mrzone/plan.hpp>

#include "check.hpp"
#include "direct_keys.hpp"
#include "ksm.hpp"
#include "memory_runs.hpp"
#include "one_key.hpp"

#include <algorithm>
#include <exception>
#include <limits>
#include <utility>

namespace mrz {
namespace {

constexpr std::size_t longest_cut = std::size_t{1} << 62;

// Costs are added and multiplied without looking; this keeps them in range.
void check_weights(const Weights& weights, std::size_t length)
{
    constexpr std::uint64_t most = std::uint64_t{1} << 60;
    const std::uint64_t most_together = most / (length / 4096 + 3);
    const std::uint64_t largest = std::max({weights.mtt, weights.mkey, weights.indirect});
    if (largest > most_together || weights.mtt + weights.mkey + weights.indirect > most_together)
        refuse("with these weights a layout of " + std::to_string(length) + " bytes could cost more than 2^60",
               {.limit = "the largest sum of weights", .present = most_together}, "give smaller weights");
}

// Remembers the cheapest plan so far; of equal ones, the first.
class Planner {
  public:
    Planner(const Layout& layout, const PlanOptions& options, const Limits& limits)
        : layout_{layout}, options_{options}, limits_{limits}, costs_{.key = static_cast<std::int64_t>(
                                                                          options.weights.mkey),
                                                                      .entry = static_cast<std::int64_t>(
                                                                          options.weights.mtt),
                                                                      .piece = 0,
                                                                      .max_piece = 0,
                                                                      .max_pieces = {}}
    {
    }

    Plan plan()
    {
        std::exception_ptr refusal = try_one_key();
        if (options_.iova && !fits(*options_.iova, layout_.length()))
            std::rethrow_exception(refusal);
        if (layout_.length() > longest_cut) {
            proven_ = false;
        } else if (const auto free = MemoryRuns::of(layout_, std::nullopt)) {
            if (!options_.single_key)
                try_side_by_side(*free);
            // Where keys side by side may have any iova, one over them saves nothing.
            if (options_.indirect && (options_.single_key || options_.iova))
                try_indirect(*free);
        }
        if (best_.keys.empty())
            std::rethrow_exception(refusal);
        best_.proven = proven_;
        say_better_iova();
        return std::move(best_);
    }

  private:
    std::exception_ptr try_one_key()
    {
        try {
            best_ = make_plan(layout_, options_.iova, limits_);
            best_.weights = options_.weights;
            cost_ = static_cast<std::int64_t>(best_.cost());
            return {};
        } catch (const Error&) {
            return std::current_exception();
        }
    }

    void try_side_by_side(const MemoryRuns& free)
    {
        std::optional<MemoryRuns> fixed;
        if (options_.iova)
            fixed = MemoryRuns::of(layout_, options_.iova);
        const DirectKeys wanted{
            .layout = layout_, .memory = fixed ? *fixed : free, .limits = limits_, .iova = options_.iova};
        const DirectSolution solution = cheapest_direct_keys(wanted, costs_);
        proven_ = proven_ && solution.proven;
        if (solution.partition && solution.partition->cost < cost_)
            take(wanted, *solution.partition, solution.partition->cost);
    }

    void try_indirect(const MemoryRuns& free)
    {
        const DirectKeys direct{.layout = layout_, .memory = free, .limits = limits_, .iova = {}};
        KeyCosts costs = costs_;
        costs.piece = static_cast<std::int64_t>(options_.weights.indirect);
        costs.max_piece = limits_.indirect.max_klm_bytes;
        costs.max_pieces = limits_.indirect.max_entries;
        // Under a key that chooses its own iova, one direct key alone is no better than by itself.
        const std::int64_t direct_keys = options_.iova ? 1 : 2;
        if (costs.key + direct_keys * (costs.key + costs.entry + costs.piece) >= cost_)
            return;

        DirectSolution klm;
        if (limits_.indirect.klm) {
            klm = cheapest_direct_keys(direct, costs);
            proven_ = proven_ && klm.proven;
        }
        const std::int64_t klm_cost =
            klm.partition ? klm.partition->cost + costs.key : std::numeric_limits<std::int64_t>::max();
        if (limits_.indirect.ksm) {
            const KsmSolution ksm = cheapest_ksm({.direct = direct,
                                                  .iova = options_.iova,
                                                  .costs = costs,
                                                  .below = klm.partition ? std::min(cost_, klm_cost + 1) : cost_,
                                                  .klm = klm.partition ? &*klm.partition : nullptr});
            proven_ = proven_ && ksm.proven;
            if (ksm.partition) {
                take(direct, *ksm.partition, ksm.cost);
                add_ksm(direct, ksm);
                return;
            }
        }
        if (klm_cost < cost_) {
            take(direct, *klm.partition, klm_cost);
            add_klm();
        }
    }

    void take(const DirectKeys& wanted, const Partition& partition, std::int64_t cost)
    {
        cost_ = cost;
        best_ = {};
        best_.bytes = layout_.length();
        best_.weights = options_.weights;
        best_.keys.reserve(partition.begins.size());
        for (std::size_t i = 0; i < partition.begins.size(); ++i) {
            const bool last = i + 1 == partition.begins.size();
            best_.keys.push_back(
                direct_key(wanted, partition.begins[i], last ? wanted.memory.end() : partition.begins[i + 1]));
        }
        if (limits_.rule == PageSizeRule::umem)
            for (const PlannedKey& key : best_.keys)
                best_.umems.push_back({.offset = key.offset, .length = key.length, .page_shift = key.page_shift});
        set_limit();
    }

    void add_klm()
    {
        PlannedIndirect indirect{.kind = IndirectKind::klm, .iova = {}, .entry_shift = {}, .entries = {}};
        indirect.iova = options_.iova ? *options_.iova : best_iova(Part{layout_}, limits_).value_or(Iova{});
        const std::size_t longest = limits_.indirect.max_klm_bytes;
        for (std::size_t i = 0; i < best_.keys.size(); ++i)
            for (std::size_t done = 0; done < best_.keys[i].length; done += longest)
                indirect.entries.push_back({.key = i,
                                            .offset = best_.keys[i].offset + done,
                                            .length = std::min(longest, best_.keys[i].length - done)});
        best_.indirect = std::move(indirect);
    }

    void add_ksm(const DirectKeys& direct, const KsmSolution& ksm)
    {
        const std::uint64_t entry = std::uint64_t{1} << ksm.shift;
        const std::uint64_t head = direct.memory.head();
        PlannedIndirect indirect{
            .kind = IndirectKind::ksm, .iova = {}, .entry_shift = PageShift{ksm.shift}, .entries = {}};
        indirect.iova = options_.iova ? *options_.iova : ksm_iova(entry, head - ksm.first);
        lift_first_key(entry, indirect.iova);

        std::size_t key = 0;
        std::size_t begin = 0;
        for (Place place = ksm.first; begin < layout_.length(); place += entry) {
            const std::size_t end = place >= direct.memory.end() ? layout_.length() : place - head;
            while (best_.keys[key].offset + best_.keys[key].length <= begin)
                ++key;
            indirect.entries.push_back({.key = key, .offset = begin, .length = end - begin});
            begin = end;
        }
        best_.indirect = std::move(indirect);
    }

    // Near the first DMA address, as other keys are, if there is room.
    [[nodiscard]] Iova ksm_iova(std::uint64_t entry, std::uint64_t wanted) const
    {
        const std::uint64_t rest = wanted % entry;
        const Iova near{layout_.extents().front().dma.value() / entry * entry + rest};
        return fits(near, layout_.length()) ? near : Iova{rest};
    }

    // A KSM entry begins at a multiple of its length, the first perhaps before the direct key does. This keeps the
    // address that it leads to from being below 0.
    void lift_first_key(std::uint64_t entry, Iova iova)
    {
        PlannedKey& key = best_.keys.front();
        if (key.iova.value() >= iova.value() % entry)
            return;
        const Iova lifted = key.iova + std::max(entry, limits_.max_page_shift.bytes());
        if (lifted > key.iova && fits(lifted, key.length)) {
            key.limit.at = key.limit.at + (lifted - key.iova);
            key.iova = lifted;
            set_limit();
        }
    }

    void set_limit()
    {
        const auto fewer = [](const PlannedKey& a, const PlannedKey& b) { return a.entries < b.entries; };
        best_.limit = std::max_element(best_.keys.begin(), best_.keys.end(), fewer)->limit;
    }

    void say_better_iova()
    {
        best_.better.reset();
        const Part whole{layout_};
        const std::optional<Iova> iova = options_.iova ? best_iova(whole, limits_) : std::nullopt;
        if (!iova)
            return;
        const PlannedKey key = plan_one_key(whole, *iova, limits_);
        if (obeys(key, limits_) && options_.weights.mkey + options_.weights.mtt * key.entries < best_.cost())
            best_.better = BetterIova{.iova = *iova, .entries = key.entries};
    }

    const Layout& layout_;
    const PlanOptions& options_;
    const Limits& limits_;
    KeyCosts costs_;
    Plan best_;
    std::int64_t cost_ = std::numeric_limits<std::int64_t>::max();
    bool proven_ = true;
};

} // namespace

Plan make_optimal_plan(const Layout& layout, const PlanOptions& options, const Limits& limits)
{
    check_limits(limits);
    check_weights(options.weights, layout.length());
    return Planner{layout, options, limits}.plan();
}

} // namespace mrz
