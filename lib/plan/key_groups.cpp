// SPDX-License-Identifier: BSD-3-Clause
#include "key_groups.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <utility>

namespace mrz {
namespace {

constexpr unsigned orders = 64;
constexpr std::uint64_t never = std::numeric_limits<std::uint64_t>::max();

std::uint64_t block(unsigned order)
{
    return std::uint64_t{1} << order;
}

std::uint64_t divided_up(std::uint64_t number, std::uint64_t by)
{
    return number / by + (number % by != 0 ? 1 : 0);
}

// How many of the largest aligned blocks, of at most one order, the runs consist of: of each order.
class Blocks {
  public:
    explicit Blocks(unsigned largest) : largest_{largest} {}

    void add(const PageRun& run) { count(run, 1); }
    void remove(const PageRun& run) { count(run, ~std::uint64_t{0}); }

    // Pages in blocks of this order.
    [[nodiscard]] std::uint64_t pages(unsigned order) const { return counts_[order] << order; }
    template <class See>
    static void each(const PageRun& run, unsigned largest, See see)
    {
        for (std::uint64_t at = run.first; at < run.end();) {
            unsigned order =
                at == 0 ? largest : std::min<unsigned>(largest, static_cast<unsigned>(std::countr_zero(at)));
            while (block(order) > run.end() - at)
                --order;
            // All blocks of the largest order at once: a run may be long.
            const std::uint64_t many = order == largest ? (run.end() - at) >> order : 1;
            see(order, many);
            at += many << order;
        }
    }

  private:
    void count(const PageRun& run, std::uint64_t sign)
    {
        each(run, largest_, [&](unsigned order, std::uint64_t many) { counts_[order] += sign * many; });
    }

    unsigned largest_;
    std::array<std::uint64_t, orders> counts_{};
};

// Blocks of one order for one key.
struct Share {
    unsigned order = 0;
    std::uint64_t pages = 0;
};

struct Shares {
    std::uint64_t cost = never;
    std::vector<Share> shares; // orders descending
};

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
        : terms_{terms}, key_{terms.weights.mkey}, entry_{terms.weights.mtt}
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
            Shares found = exact_shares(blocks_of(start_.runs), terms_.count);
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

    [[nodiscard]] std::uint64_t indirect(std::uint64_t pages) const
    {
        return terms_.weights.indirect * divided_up(std::max<std::uint64_t>(pages, 1), terms_.max_klm);
    }
    [[nodiscard]] std::uint64_t group_cost(std::uint64_t pages, std::uint64_t entries) const
    {
        return key_ + indirect(pages) + entry_ * entries;
    }
    // Parts of largest blocks that a run touches: the entries of a key over it.
    [[nodiscard]] std::uint64_t entries(const PageRun& run) const
    {
        return ((run.end() - 1) >> terms_.largest) - (run.first >> terms_.largest) + 1;
    }
    [[nodiscard]] std::uint64_t single_cost(const PageRun& run) const { return group_cost(run.count, entries(run)); }

    // ---- Whole blocks: which orders ----

    // A shortest path over orders: those passed take all of their blocks, the last is cut. `required` orders are
    // there in any case, though they have no block.
    [[nodiscard]] Shares shares(const Blocks& blocks, std::uint64_t need, std::uint64_t required = 0) const
    {
        struct Node {
            std::uint64_t cost = never;
            int before = -1;
            std::uint64_t pages = 0; // in this order and above
        };
        std::array<Node, orders> nodes{};
        std::uint64_t best = never;
        int last = -1;
        std::uint64_t lowest_required = orders;
        for (unsigned o = 0; o < orders; ++o)
            if ((required >> o & 1) != 0) {
                lowest_required = o;
                break;
            }
        if (need == 0 && required == 0)
            return {.cost = 0, .shares = {}};
        std::uint64_t pages = 0;
        for (int o = static_cast<int>(terms_.largest); o >= static_cast<int>(terms_.smallest); --o) {
            const auto order = static_cast<unsigned>(o);
            pages += blocks.pages(order);
            Node& node = nodes[order];
            node.pages = std::min(pages, need);
            for (int before = o + 1; before <= static_cast<int>(terms_.largest) + 1; ++before) {
                const bool first = before == static_cast<int>(terms_.largest) + 1;
                const std::uint64_t cost = first ? 0 : nodes[static_cast<unsigned>(before)].cost;
                const std::uint64_t had = first ? 0 : nodes[static_cast<unsigned>(before)].pages;
                if (cost != never) {
                    const std::uint64_t share = node.pages - had;
                    const std::uint64_t sum = cost + group_cost(share, divided_up(share, block(order)));
                    if ((share > 0 || (required >> order & 1) != 0) && sum < node.cost) {
                        node.cost = sum;
                        node.before = first ? -1 : before;
                    }
                }
                if (!first && (required >> static_cast<unsigned>(before) & 1) != 0)
                    break; // none may pass by it
            }
            if (node.pages == need && order <= lowest_required && node.cost < best) {
                best = node.cost;
                last = o;
            }
        }
        Shares found{.cost = best, .shares = {}};
        for (int o = last; o >= 0; o = nodes[static_cast<unsigned>(o)].before) {
            const Node& node = nodes[static_cast<unsigned>(o)];
            const std::uint64_t had = node.before < 0 ? 0 : nodes[static_cast<unsigned>(node.before)].pages;
            found.shares.push_back({.order = static_cast<unsigned>(o), .pages = node.pages - had});
        }
        std::reverse(found.shares.begin(), found.shares.end());
        return found;
    }

    // Under the umem rule the pages of a key are a multiple of its order's.
    [[nodiscard]] Shares exact_shares(const Blocks& blocks, std::uint64_t need) const
    {
        std::array<std::uint64_t, orders> pages{};
        for (unsigned o = terms_.largest + 1; o-- > terms_.smallest;)
            pages[o] = blocks.pages(o) + (o < terms_.largest ? pages[o + 1] : 0);
        Shares best;
        std::vector<Share> chosen;
        const auto descend = [&](const auto& self, int order, std::uint64_t rest, std::uint64_t cost) -> void {
            if (cost >= best.cost)
                return;
            if (rest == 0) {
                best = {.cost = cost, .shares = chosen};
                return;
            }
            for (int o = order; o >= static_cast<int>(terms_.smallest); --o) {
                const auto at = static_cast<unsigned>(o);
                const std::uint64_t free = pages[at] - (need - rest);
                const std::uint64_t share = std::min(free >> at, rest >> at) << at;
                if (share == 0)
                    continue;
                chosen.push_back({.order = at, .pages = share});
                self(self, o - 1, rest - share, cost + group_cost(share, share >> at));
                chosen.pop_back();
            }
        };
        descend(descend, static_cast<int>(terms_.largest), need, 0);
        return best;
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
            Shares rest = shares(blocks, need, start.required);
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

    // The longest part of a block of this order that ends, or begins, at its edge; the run it is of is removed from
    // `others_`, and what is left of it put back.
    [[nodiscard]] std::optional<PageRun> longest_piece(const std::vector<PageRun>& runs, unsigned order, bool tail,
                                                       std::uint64_t most) const
    {
        std::optional<PageRun> best;
        for (const PageRun& run : runs) {
            const std::uint64_t size = block(order);
            PageRun piece;
            if (tail) {
                const std::uint64_t edge = run.end() >> order << order;
                const std::uint64_t first_edge = divided_up(run.first, size) << order;
                if (edge <= run.first)
                    continue;
                // Only the part of an incomplete block: the whole ones are the group's anyway.
                piece = {run.first, first_edge - run.first};
            } else {
                const std::uint64_t edge = run.end() >> order << order;
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

    // Cuts so many pages of whole blocks of an order out of the runs: those first that belong to no larger block.
    static std::vector<PageRun> cut_blocks(std::vector<PageRun>& runs, unsigned order, unsigned largest,
                                           std::uint64_t pages, bool cut_first)
    {
        struct Ranked {
            unsigned within; // the order of the largest block around it
            std::uint64_t first;
            bool operator<(const Ranked& other) const
            {
                return within != other.within ? within < other.within : first < other.first;
            }
        };
        std::vector<Ranked> ranked;
        for (const PageRun& run : runs) {
            std::uint64_t at = run.first;
            Blocks::each(run, largest, [&](unsigned within, std::uint64_t many) {
                for (std::uint64_t first = at; within >= order && first < at + (many << within);
                     first += block(order))
                    ranked.push_back({.within = within, .first = first});
                at += many << within;
            });
        }
        const auto wanted = static_cast<std::ptrdiff_t>(divided_up(pages, block(order)));
        std::nth_element(ranked.begin(), ranked.begin() + wanted - 1, ranked.end());
        ranked.resize(static_cast<std::size_t>(wanted));
        std::sort(ranked.begin(), ranked.end(), [](const Ranked& a, const Ranked& b) { return a.first < b.first; });

        std::vector<PageRun> chosen;
        for (const Ranked& one : ranked) {
            if (!chosen.empty() && chosen.back().end() == one.first)
                chosen.back().count += block(order);
            else
                chosen.push_back({one.first, block(order)});
        }
        // Only what is left of the runs stays.
        std::sort(runs.begin(), runs.end(), [](const PageRun& a, const PageRun& b) { return a.first < b.first; });
        std::vector<PageRun> left;
        auto cut = chosen.begin();
        for (PageRun run : runs) {
            for (; cut != chosen.end() && cut->first < run.end(); ++cut) {
                if (cut->first > run.first)
                    left.push_back({run.first, cut->first - run.first});
                run = {cut->end(), run.end() - cut->end()};
            }
            if (run.count > 0)
                left.push_back(run);
        }
        runs = std::move(left);
        const std::uint64_t over = static_cast<std::uint64_t>(wanted) * block(order) - pages;
        if (cut_first)
            chosen.front() = {chosen.front().first + over, chosen.front().count - over};
        else
            chosen.back().count -= over;
        return chosen;
    }

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
    std::uint64_t key_;
    std::uint64_t entry_;
    Start start_; // of the best
    Solution best_;
};

} // namespace

std::optional<KeyGroups> choose_groups(std::span<const PageRun> runs, const GroupTerms& terms)
{
    return Search{runs, terms}.run();
}

std::vector<std::uint32_t>
cheapest_partition(std::size_t frames, std::size_t count,
                   const std::function<std::optional<std::uint64_t>(std::uint32_t)>& cost_of)
{
    struct Best {
        std::uint64_t cost = never;
        std::uint32_t key = 0; // the one that holds the lowest page
    };
    const std::uint32_t all = std::uint32_t{1} << frames;
    std::vector<std::uint64_t> keys(all, never);
    std::vector<Best> best(all);
    best[0].cost = 0;
    std::uint32_t cheapest = 0;
    for (std::uint32_t pages = 1; pages < all; ++pages) {
        const auto members = static_cast<std::size_t>(std::popcount(pages));
        if (members > count)
            continue;
        if (const auto cost = cost_of(pages))
            keys[pages] = *cost;
        const std::uint32_t lowest = pages & (~pages + 1);
        const std::uint32_t others = pages ^ lowest;
        for (std::uint32_t more = others;; more = (more - 1) & others) {
            const std::uint32_t key = lowest | more;
            const std::uint64_t rest = best[pages ^ key].cost;
            if (keys[key] != never && rest != never && keys[key] + rest < best[pages].cost)
                best[pages] = {.cost = keys[key] + rest, .key = key};
            if (more == 0)
                break;
        }
        if (members == count && best[pages].cost != never &&
            (cheapest == 0 || best[pages].cost < best[cheapest].cost))
            cheapest = pages;
    }
    std::vector<std::uint32_t> found;
    for (std::uint32_t pages = cheapest; pages != 0; pages ^= best[pages].key)
        found.push_back(best[pages].key);
    return found;
}

} // namespace mrz
