// SPDX-License-Identifier: BSD-3-Clause
// Runs of pages as naturally aligned blocks; order o stands for blocks of 2^o pages.
#pragma once

#include "pool_blocks.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <vector>

namespace mrz {

inline constexpr unsigned orders = 64;

constexpr std::uint64_t block(unsigned order)
{
    return std::uint64_t{1} << order;
}

constexpr std::uint64_t divided_up(std::uint64_t number, std::uint64_t by)
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

// Cuts so many pages of whole blocks of an order, at least one, out of the runs: those first that belong to no larger
// block, of at most `largest`. Where whole blocks are more pages than that, the end of the last one is left out, or
// with cut_first the beginning of the first one.
std::vector<PageRun> cut_blocks(std::vector<PageRun>& runs, unsigned order, unsigned largest, std::uint64_t pages,
                                bool cut_first);

} // namespace mrz
