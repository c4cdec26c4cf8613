// SPDX-License-Identifier: BSD-3-Clause
#include "key_shares.hpp"

#include <algorithm>
#include <array>

namespace mrz {

std::uint64_t ShareChoice::group_cost(std::uint64_t pages, std::uint64_t entries) const
{
    const std::uint64_t pieces = divided_up(std::max<std::uint64_t>(pages, 1), terms_.max_klm);
    return terms_.weights.mkey + terms_.weights.indirect * pieces + terms_.weights.mtt * entries;
}

Shares ShareChoice::shares(const Blocks& blocks, std::uint64_t need, std::uint64_t required) const
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

Shares ShareChoice::exact_shares(const Blocks& blocks, std::uint64_t need) const
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

} // namespace mrz
