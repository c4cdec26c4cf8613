// SPDX-License-Identifier: BSD-3-Clause
#include "key_groups.hpp"

#include "key_shares.hpp"
#include "run_blocks.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace mrz {
namespace {

// A part of a block before or after the whole ones of the key of an order.
struct Slot {
    unsigned order = 0;
    bool tail = false;
    PageRun piece;
};

// What is settled before the rest is chosen: the slots.
struct Start {
    std::vector<Slot> slots;
    std::uint64_t required = 0; // orders that have a slot, one bit each
    std::uint64_t need = 0;     // pages still to choose
    std::uint64_t paid = 0;
    std::vector<PageRun> runs; // what they leave
};

struct Solution {
    std::uint64_t cost = never;
    std::vector<PageRun> singles; // keys of their own; the last is cut where there is more than needed
    std::vector<PageRun> others;
    std::vector<Share> shares;
};

class Search {
  public:
    Search(std::span<const PageRun> runs, const GroupTerms& terms)
        : terms_{terms}, choice_{terms}, entry_{terms.weights.mtt}
    {
        start_.need = terms.count;
        start_.runs.assign(runs.begin(), runs.end());
    }

    std::optional<KeyGroups> run()
    {
        if (terms_.parts) {
            best_ = with_singles(start_);
            while (best_.cost != never && start_.runs.size() <= many_runs &&
                   improve(Start{start_}, start_.runs.size() <= few_runs ? 2 : 1)) {
            }
        } else {
            Shares found = choice_.exact_shares(blocks_of(start_.runs), terms_.count);
            best_ = {.cost = found.cost, .singles = {}, .others = start_.runs, .shares = std::move(found.shares)};
        }
        return best_.cost == never ? std::nullopt : std::optional{build()};
    }

  private:
    // So few that two slots may be tried together, and so many that the few slots there are save nothing to speak of.
    static constexpr std::size_t few_runs = 24;
    static constexpr std::size_t many_runs = 4096;

    [[nodiscard]] Blocks blocks_of(const std::vector<PageRun>& runs) const
    {
        Blocks blocks{terms_.largest};
        for (const PageRun& run : runs)
            blocks.add(run);
        return blocks;
    }

    // ---- Costs ----

    // Parts of largest blocks that a run touches: the entries of a key over it.
    [[nodiscard]] std::uint64_t entries(const PageRun& run) const
    {
        return ((run.end() - 1) >> terms_.largest) - (run.first >> terms_.largest) + 1;
    }
    [[nodiscard]] std::uint64_t single_cost(const PageRun& run) const
    {
        return choice_.group_cost(run.count, entries(run));
    }

    // ---- Runs that are keys of their own ----

    // Tries the first n of these runs as keys of their own, for each n.
    bool try_in_this_order(const Start& start, const std::vector<PageRun>& runs, Solution& best) const
    {
        Blocks blocks = blocks_of(runs);
        bool better = false;
        std::uint64_t paid = start.paid;
        std::uint64_t need = start.need;
        const std::size_t most = terms_.free_iovas ? runs.size() : 0;
        for (std::size_t singles = 0;; ++singles) {
            Shares rest = choice_.shares(blocks, need, start.required);
            if (rest.cost != never && paid + rest.cost < best.cost && can_be_cut(start.slots, rest.shares)) {
                const auto end = runs.begin() + static_cast<std::ptrdiff_t>(singles);
                best = {.cost = paid + rest.cost,
                        .singles = {runs.begin(), end},
                        .others = {end, runs.end()},
                        .shares = std::move(rest.shares)};
                better = true;
            }
            if (need == 0 || singles == most)
                return better;
            PageRun run = runs[singles];
            blocks.remove(run);
            if (run.count > need)
                run = best_part(run, need);
            paid += single_cost(run);
            need -= run.count;
            if (paid >= best.cost)
                return better;
        }
    }

    // The block that is cut has to be its key's first or last piece, too.
    [[nodiscard]] static bool can_be_cut(const std::vector<Slot>& slots, const std::vector<Share>& shares)
    {
        if (shares.empty() || shares.back().pages % block(shares.back().order) == 0)
            return true;
        return std::count_if(slots.begin(), slots.end(),
                             [&](const Slot& slot) { return slot.order == shares.back().order; }) < 2;
    }

    // The part of a run that touches fewest of the largest blocks: from where a block begins, or where the run does.
    [[nodiscard]] PageRun best_part(const PageRun& run, std::uint64_t pages) const
    {
        PageRun best{run.first, pages};
        const std::uint64_t edge = divided_up(run.first, block(terms_.largest)) << terms_.largest;
        if (edge > run.first && edge + pages <= run.end() && entries({edge, pages}) < entries(best))
            best = {edge, pages};
        const PageRun last{run.end() - pages, pages};
        return entries(last) < entries(best) ? last : best;
    }

    [[nodiscard]] Solution with_singles(const Start& start) const
    {
        std::vector<PageRun> runs = start.runs;
        std::sort(runs.begin(), runs.end(), [this](const PageRun& a, const PageRun& b) {
            return std::pair{b.count * entries(a), a.first} < std::pair{a.count * entries(b), b.first};
        });
        Solution best;
        try_in_this_order(start, runs, best);
        constexpr int rounds = 4;
        for (int round = 0; terms_.free_iovas && best.cost != never && round < rounds; ++round) {
            sort_by_worth(runs, best);
            if (!try_in_this_order(start, runs, best))
                break;
        }
        return best;
    }

    // By what a run costs where it is not a key of its own: the blocks that the groups take of it, and the rest at
    // the price of a page in the last group.
    void sort_by_worth(std::vector<PageRun>& runs, const Solution& solution) const
    {
        double price = 0;
        if (!solution.shares.empty())
            price = static_cast<double>(entry_) / static_cast<double>(block(solution.shares.back().order));
        else if (!solution.singles.empty())
            price = static_cast<double>(single_cost(solution.singles.back())) /
                    static_cast<double>(solution.singles.back().count);
        std::vector<std::pair<double, PageRun>> worth;
        worth.reserve(runs.size());
        for (const PageRun& run : runs) {
            double saved = -static_cast<double>(single_cost(run));
            Blocks::each(run, terms_.largest, [&](unsigned order, std::uint64_t many) {
                const auto share = std::find_if(solution.shares.begin(), solution.shares.end(),
                                                [order](const Share& one) { return one.order <= order; });
                const double pages = static_cast<double>(many << order);
                saved += share == solution.shares.end()
                             ? price * pages
                             : static_cast<double>(entry_) * pages / static_cast<double>(block(share->order));
            });
            worth.emplace_back(saved, run);
        }
        std::sort(worth.begin(), worth.end(), [](const auto& a, const auto& b) {
            return a.first != b.first ? a.first > b.first : a.second.first < b.second.first;
        });
        for (std::size_t i = 0; i < runs.size(); ++i)
            runs[i] = worth[i].second;
    }

    // ---- Parts of blocks at the ends of a group ----

    // The longest part of a block of this order that ends, or begins, at its edge.
    [[nodiscard]] std::optional<PageRun> longest_piece(const std::vector<PageRun>& runs, unsigned order, bool tail,
                                                       std::uint64_t most) const
    {
        std::optional<PageRun> best;
        for (const PageRun& run : runs) {
            const std::uint64_t edge = run.end() >> order << order;
            PageRun piece;
            if (tail) {
                if (edge <= run.first)
                    continue;
                // Only the part of an incomplete block: the whole ones are the group's anyway.
                piece = {run.first, (divided_up(run.first, block(order)) << order) - run.first};
            } else {
                if (edge < run.first || edge == run.end())
                    continue;
                piece = {edge, run.end() - edge};
            }
            if (piece.count == 0)
                continue;
            if (piece.count > most)
                piece = tail ? PageRun{piece.end() - most, most} : PageRun{piece.first, most};
            if (!best || piece.count > best->count)
                best = piece;
        }
        return best;
    }

    static void take(std::vector<PageRun>& runs, const PageRun& piece)
    {
        const auto run = std::find_if(runs.begin(), runs.end(), [&](const PageRun& one) {
            return one.first <= piece.first && piece.end() <= one.end();
        });
        const PageRun before{run->first, piece.first - run->first};
        const PageRun after{piece.end(), run->end() - piece.end()};
        runs.erase(run);
        if (before.count > 0)
            runs.push_back(before);
        if (after.count > 0)
            runs.push_back(after);
    }

    // The start with a part of a block at the ends given: none if there is no such part, or one already.
    [[nodiscard]] std::optional<Start> with_slots(const Start& start, unsigned order,
                                                  std::span<const bool> ends) const
    {
        Start next = start;
        for (const bool tail : ends) {
            const bool taken = std::any_of(next.slots.begin(), next.slots.end(), [&](const Slot& slot) {
                return slot.order == order && slot.tail == tail;
            });
            const auto piece =
                taken || next.need == 0 ? std::nullopt : longest_piece(next.runs, order, tail, next.need);
            if (!piece)
                return {};
            take(next.runs, *piece);
            next.slots.push_back({.order = order, .tail = tail, .piece = *piece});
            next.required |= block(order);
            next.need -= piece->count;
            next.paid += entry_;
        }
        return next;
    }

    // Tries a tail and a head, or one of them, at each order; and if that is deeper, two of these together.
    bool improve(const Start& start, int depth)
    {
        constexpr std::array<bool, 2> ends{true, false};
        bool better = false;
        for (unsigned order = std::max(terms_.smallest, 1U); order <= terms_.largest; ++order) {
            for (const std::span<const bool> some :
                 {std::span<const bool>{ends}, std::span<const bool>{ends}.first(1),
                  std::span<const bool>{ends}.last(1)}) {
                auto next = with_slots(start, order, some);
                if (!next)
                    continue;
                Solution found = with_singles(*next);
                if (found.cost < best_.cost) {
                    best_ = std::move(found);
                    start_ = *next;
                    better = true;
                }
                if (depth > 1)
                    better = improve(*next, depth - 1) || better;
            }
        }
        return better;
    }

    // ---- The pages themselves ----

    KeyGroups build()
    {
        std::vector<PageRun> runs = best_.others;
        const std::vector<Slot>& slots = start_.slots;
        std::vector<KeyGroup> groups;
        for (const Share& share : best_.shares) {
            KeyGroup group;
            const auto find = [&](bool tail) {
                return std::find_if(slots.begin(), slots.end(),
                                    [&](const Slot& slot) { return slot.order == share.order && slot.tail == tail; });
            };
            const auto tail = find(true);
            const auto head = find(false);
            if (tail != slots.end())
                group.pieces.push_back(tail->piece);
            if (share.pages > 0)
                for (const PageRun& run :
                     cut_blocks(runs, share.order, terms_.largest, share.pages, head != slots.end()))
                    group.pieces.push_back(run);
            if (head != slots.end())
                group.pieces.push_back(head->piece);
            groups.push_back(std::move(group));
        }
        std::uint64_t left = terms_.count;
        for (const KeyGroup& group : groups)
            for (const PageRun& piece : group.pieces)
                left -= piece.count;
        for (const PageRun& run : best_.singles) {
            const PageRun part = run.count > left ? best_part(run, left) : run;
            groups.push_back({.pieces = {part}});
            left -= part.count;
        }
        return {.keys = std::move(groups), .cost = best_.cost};
    }

    const GroupTerms& terms_;
    ShareChoice choice_;
    std::uint64_t entry_;
    Start start_; // of the best
    Solution best_;
};

} // namespace

std::optional<KeyGroups> choose_groups(std::span<const PageRun> runs, const GroupTerms& terms)
{
    return Search{runs, terms}.run();
}

} // namespace mrz
