// SPDX-License-Identifier: BSD-3-Clause
// What both searches of cuts.hpp share: a walk over runs and places, and the grid of each page shift.
#pragma once

#include "memory_runs.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace mrz {

//! The cells of one shift, on the grid that the present run shares with those before it.
struct Grid {
    unsigned shift = 12;
    Place origin = 0;         //!< The first run on this grid begins here,
    std::uint64_t offset = 0; //!< and that far into a cell.
    bool open = true;         //!< Whether keys of this shift may reach into the present run.

    void restart(const Run& run) noexcept
    {
        origin = run.begin;
        offset = run.dma & ((std::uint64_t{1} << shift) - 1);
        open = run.congruence >= shift;
    }
    //! The number of the cell that a place is in, and of the one after the last that is touched before a place.
    [[nodiscard]] std::uint64_t cell(Place place) const noexcept { return (place - origin + offset) >> shift; }
    [[nodiscard]] std::uint64_t cell_after(Place place) const noexcept
    {
        return ((place - origin + offset - 1) >> shift) + 1;
    }
};

//! The page shifts at which joints stop keys, and the largest, ascending. A key of any other shift could as well have
//! the next higher of these, as it reaches over no joint that tells the two apart.
std::vector<unsigned> shifts_of_joints(const MemoryRuns& memory, const Limits& limits);
//! The page shifts that can decide: those, or all where not only joints stop keys.
std::vector<unsigned> deciding_shifts(const MemoryRuns& memory, const Limits& limits);

//! Whether a key of a shift may begin, or end, at a place as far as its page-size rule goes.
class RuleOfEnds {
  public:
    RuleOfEnds(const MemoryRuns& memory, const Limits& limits)
        : memory_{memory}, umem_{limits.rule == PageSizeRule::umem}
    {
    }
    [[nodiscard]] bool may_begin(unsigned shift, Place place, const Run& run) const noexcept
    {
        return may(shift, place, run, place == 0 && memory_.head() != 0);
    }
    [[nodiscard]] bool may_end(unsigned shift, Place place, const Run& run) const noexcept
    {
        return may(shift, place, run, place == memory_.end() && memory_.tail() != 0);
    }

  private:
    // Base and length have to be multiples of the page, unless it is the kernel's own.
    [[nodiscard]] bool may(unsigned shift, Place place, const Run& run, bool within_page) const noexcept
    {
        if (!umem_ || shift == 12)
            return true;
        return !within_page && run.dma_at(place) % (std::uint64_t{1} << shift) == 0;
    }

    const MemoryRuns& memory_;
    bool umem_;
};

//! Calls enter(i) at the start of each run but the first, close(place, run) for the keys that may end at a place and
//! then open(place, run) for those that may begin there, each with the index of the place.
template <class Search>
void walk(const MemoryRuns& memory, std::span<const Place> places, Search& search)
{
    const std::vector<Run>& runs = memory.runs();
    std::size_t run = 0;
    search.open(0, places[0], runs[0]);
    for (std::size_t i = 1; i < places.size(); ++i) {
        while (runs[run].end < places[i])
            search.enter(++run);
        search.close(i, places[i], runs[run]);
        if (i + 1 == places.size())
            break;
        if (runs[run].end == places[i])
            search.enter(++run);
        search.open(i, places[i], runs[run]);
    }
}

} // namespace mrz
