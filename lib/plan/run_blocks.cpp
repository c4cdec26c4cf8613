// SPDX-License-Identifier: BSD-3-Clause
#include "run_blocks.hpp"

#include <cstddef>
#include <utility>

namespace mrz {

std::vector<PageRun> cut_blocks(std::vector<PageRun>& runs, unsigned order, unsigned largest, std::uint64_t pages,
                                bool cut_first)
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
            for (std::uint64_t first = at; within >= order && first < at + (many << within); first += block(order))
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

} // namespace mrz
