// SPDX-License-Identifier: BSD-3-Clause
#include "key_splits.hpp"

#include <bit>
#include <limits>

namespace mrz {

std::vector<std::uint32_t> cheapest_split(std::size_t frames, std::size_t count,
                                          const std::function<std::optional<std::uint64_t>(std::uint32_t)>& cost_of)
{
    constexpr std::uint64_t never = std::numeric_limits<std::uint64_t>::max();
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
