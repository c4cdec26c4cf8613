// SPDX-License-Identifier: BSD-3-Clause
#include <mrzone/plan.hpp>

#include "assemble.hpp"
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
    const std::uint64_t most = (std::uint64_t{1} << 60) / (length / 4096 + 3);
    const std::uint64_t largest = std::max({weights.mtt, weights.mkey, weights.indirect});
    if (largest > most || weights.mtt + weights.mkey + weights.indirect > most)
        refuse("with these weights a layout of " + std::to_string(length) + " bytes could cost more than 2^60",
               {.limit = "the largest sum of weights", .present = most}, "give smaller weights");
}

// Tries the ways to register a layout in the order in which equal costs are preferred, and remembers the cheapest.
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
        const std::exception_ptr refusal = try_one_key();
        if (refusal && (layout_.length() == 0 || (options_.iova && !fits(*options_.iova, layout_.length()))))
            std::rethrow_exception(refusal);
        if (layout_.length() > longest_cut)
            proven_ = false;
        else
            try_several();
        if (cost_ == none)
            std::rethrow_exception(refusal);
        best_.weights = options_.weights;
        best_.proven = proven_;
        say_better_iova();
        return std::move(best_);
    }

  private:
    std::exception_ptr try_one_key()
    {
        try {
            best_ = make_plan(layout_, options_.iova, limits_);
            cost_ = costs_.key + costs_.entry * static_cast<std::int64_t>(best_.mtt_entries());
            return {};
        } catch (const Error&) {
            return std::current_exception();
        }
    }

    void try_several()
    {
        const bool side_by_side = !options_.single_key;
        // Where keys side by side may have any iova, one over them saves nothing.
        const bool indirect = options_.indirect && (options_.single_key || options_.iova) &&
                              (limits_.indirect.klm || limits_.indirect.ksm);
        if (side_by_side) {
            if (const auto memory = MemoryRuns::of(layout_, options_.iova))
                try_side_by_side({.layout = layout_, .memory = *memory, .limits = limits_, .iova = options_.iova});
        }
        if (indirect) {
            if (const auto memory = MemoryRuns::of(layout_, std::nullopt))
                try_indirect({.layout = layout_, .memory = *memory, .limits = limits_, .iova = {}});
        }
    }

    void try_side_by_side(const DirectKeys& keys)
    {
        const JointCosts over_joints = cheapest_over_joints(keys.memory, limits_, costs_);
        if (over_joints.cost() >= cost_)
            return;
        const DirectSolution solution = cheapest_direct_keys(keys, costs_, over_joints, cost_);
        proven_ = proven_ && solution.proven;
        if (!solution.partition || solution.partition->cost >= cost_)
            return;
        cost_ = solution.partition->cost;
        best_ = plan_of_direct_keys(keys, *solution.partition);
    }

    void try_indirect(const DirectKeys& keys)
    {
        KeyCosts costs = costs_;
        costs.piece = static_cast<std::int64_t>(options_.weights.indirect);
        costs.max_piece = limits_.indirect.max_klm_bytes;
        costs.max_pieces = limits_.indirect.max_entries;
        // An indirect key has as many entries as direct keys, or more.
        const JointCosts over_joints = cheapest_over_joints(keys.memory, limits_, costs);
        if (over_joints.cost() + costs.key >= cost_)
            return;

        DirectSolution klm;
        if (limits_.indirect.klm) {
            klm = cheapest_direct_keys(keys, costs, over_joints, cost_ - costs.key);
            proven_ = proven_ && klm.proven;
        }
        const std::int64_t klm_cost = klm.partition ? klm.partition->cost + costs.key : none;
        KsmSolution ksm;
        if (limits_.indirect.ksm) {
            ksm = cheapest_ksm({.direct = keys,
                                .iova = options_.iova,
                                .costs = costs,
                                .below = klm.partition ? std::min(cost_, klm_cost + 1) : cost_,
                                .over_joints = over_joints,
                                .klm = klm.partition.has_value()});
            proven_ = proven_ && ksm.proven;
        }
        if (ksm.partition) {
            cost_ = ksm.cost;
            best_ = plan_of_direct_keys(keys, *ksm.partition);
            put_ksm_over(best_, keys, ksm, options_.iova);
        } else if (klm_cost < cost_) {
            cost_ = klm_cost;
            best_ = plan_of_direct_keys(keys, *klm.partition);
            put_klm_over(best_, keys, options_.iova);
        }
    }

    void say_better_iova()
    {
        best_.better.reset();
        const Part whole{layout_};
        const std::optional<Iova> iova = options_.iova ? best_iova(whole, limits_) : std::nullopt;
        if (!iova)
            return;
        const PlannedKey key = plan_one_key(whole, *iova, limits_);
        if (obeys(key, limits_) && costs_.key + costs_.entry * static_cast<std::int64_t>(key.entries) < cost_)
            best_.better = BetterIova{.iova = *iova, .entries = key.entries};
    }

    static constexpr std::int64_t none = std::numeric_limits<std::int64_t>::max();

    const Layout& layout_;
    const PlanOptions& options_;
    const Limits& limits_;
    KeyCosts costs_;
    Plan best_;
    std::int64_t cost_ = none;
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
