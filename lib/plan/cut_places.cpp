// SPDX-License-Identifier: BSD-3-Clause
#include "cut_places.hpp"

#include <algorithm>
#include <bit>

namespace mrz {
namespace {

unsigned lowest_bit(std::uint64_t value)
{
    return static_cast<unsigned>(std::countr_zero(value));
}

// The ends of a run, and the first and the last place in it that is a multiple of each page, in DMA addresses.
void add_multiples(std::vector<Place>& places, const Run& run, unsigned largest)
{
    places.push_back(run.begin);
    places.push_back(run.end);
    for (unsigned shift = 13; shift <= largest; ++shift) {
        const std::uint64_t page = std::uint64_t{1} << shift;
        const std::uint64_t before_first = (page - run.dma % page) % page;
        if (before_first >= run.length())
            break;
        places.push_back(run.begin + before_first);
        places.push_back(run.end - run.dma_at(run.end) % page);
    }
}

// Without pages that the layout has only a part of: a umem that begins or ends in one has pages of no other size.
Run whole_pages(Run run, const MemoryRuns& memory)
{
    if (run.begin == 0 && memory.head() != 0) {
        run.begin += 4096;
        run.dma += 4096;
    }
    if (run.end == memory.end() && memory.tail() != 0)
        run.end -= std::min<std::uint64_t>(4096, run.length());
    return run;
}

// Steps of as many of the largest pages as a key may have.
void add_steps(std::vector<Place>& places, const Run& run, const Limits& limits)
{
    const unsigned shift = std::min(limits.max_page_shift.value(), run.congruence);
    const std::uint64_t page = std::uint64_t{1} << shift;
    if (shift < 12 || run.length() / page < *limits.max_mtt_entries)
        return;
    const std::uint64_t step = page * *limits.max_mtt_entries;
    for (Place place = run.begin + (page - run.dma % page) % page; place < run.end; place += step)
        places.push_back(place);
}

std::vector<Place> ascending(std::vector<Place> places)
{
    std::sort(places.begin(), places.end());
    places.erase(std::unique(places.begin(), places.end()), places.end());
    return places;
}

} // namespace

// For ibv_reg_mr's rule: joints. Take a cut within a run, between a key P of shift p and a key Q of shift q. If both
// lie in the run, or p = q, one key over both needs no more entries. A key that lies in the run may have the largest
// page; so if p > q, Q reaches over the joint behind, which is a multiple of 2^q then: move the cut there. Q loses an
// entry for each multiple of 2^q from the cut on, P gains one for each of 2^p, which are among these. If p < q, P
// reaches over the joint before: move the cut there, likewise.
//
// For the umem's rule: joints, and of each page size the first and the last multiple in each run, where the part of a
// page that the layout begins or ends with counts as a run of its own. Take the cut of the
// lowest alignment 2^a that is no such place. Then the multiples of 2^a on both sides are in the run, and more
// aligned. P and Q reach at least as far: where one ended nearer, that end would be less aligned, and neither the
// first nor the last in the run of its alignment. So the cut may move either way without making a page smaller, and
// one of the two ways takes as many or more cells from one key as it gives to the other. Either way alignment grows,
// which ends.
std::vector<Place> places_that_suffice(const MemoryRuns& memory, const Limits& limits)
{
    const bool umem = limits.rule == PageSizeRule::umem;
    const bool segments = has_long_runs(memory, limits);
    std::vector<Place> places;
    places.reserve(memory.runs().size() + 1);
    for (const Run& run : memory.runs()) {
        places.push_back(run.begin);
        if (umem || (segments && run.length() > *limits.max_segment))
            add_multiples(places, umem ? whole_pages(run, memory) : run, limits.max_page_shift.value());
    }
    places.push_back(memory.end());
    return umem || segments ? ascending(std::move(places)) : places;
}

std::vector<Place> places_within_limits(const MemoryRuns& memory, const Limits& limits)
{
    std::vector<Place> places = places_that_suffice(memory, limits);
    if (!limits.max_mtt_entries)
        return places;
    for (const Run& run : memory.runs())
        add_steps(places, run, limits);
    return ascending(std::move(places));
}

// Let all ends of runs, segments and pieces be multiples of 2^u, and 2^u be a page. Round each cut down to one. A key
// of a page below 2^u may have pages of 2^u then, and touches no more cells: its first is the one that it was, its
// last no later, and if it was shorter than a cell it still is one. Rounding moves neither the start nor the end of
// the memory, and adds less than 2^u to a length, so that it needs no piece more. Nor does a segment end in other
// cells.
unsigned unit_shift(const MemoryRuns& memory, const Limits& limits, std::uint64_t max_piece)
{
    // A part of a page is no multiple of anything; only under the umem's rule does that matter.
    if (limits.rule == PageSizeRule::umem && (memory.head() != 0 || memory.tail() != 0))
        return 12;
    unsigned shift = std::min(memory.common_shift(), limits.max_page_shift.value());
    if (max_piece != 0)
        shift = std::min(shift, lowest_bit(max_piece));
    if (limits.max_segment)
        shift = std::min(shift, lowest_bit(*limits.max_segment));
    for (const Run& run : memory.runs())
        shift = std::min(shift, std::max(run.congruence, 12U));
    return shift;
}

std::vector<Place> places_at_units(const MemoryRuns& memory, unsigned shift)
{
    return places_in_steps(memory, shift, 0);
}

std::vector<Place> places_in_steps(const MemoryRuns& memory, unsigned shift, Place first)
{
    const std::uint64_t step = std::uint64_t{1} << shift;
    std::vector<Place> places{0};
    for (Place place = first == 0 ? step : first; place < memory.end(); place += step)
        places.push_back(place);
    places.push_back(memory.end());
    return places;
}

} // namespace mrz
