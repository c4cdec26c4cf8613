// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Which region is to be made for a request: rounding, merging.
#include "state.hpp"

#include <mrzone/frames.hpp>
#include <mrzone/host.hpp>

#include <algorithm>
#include <tuple>
#include <utility>

#include <unistd.h>

namespace mrz {

using cache::Holding;
using cache::Mark;
using cache::Range;
using cache::Wanted;

namespace cache {

Range range_of(std::span<const std::byte> memory) noexcept
{
    const auto begin = reinterpret_cast<std::uintptr_t>(memory.data());
    return {begin, begin + memory.size()};
}

std::span<std::byte> bytes_of(const Range& range) noexcept
{
    return {reinterpret_cast<std::byte*>(range.begin), range.length()};
}

std::size_t base_page() noexcept
{
    static const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    return page;
}

namespace {

//! Whether the pages of one mapping from \p block on are all present, and one run that one entry may cover.
bool is_one_page(const Range& block)
{
    try {
        const Frames frames =
            read_frames(reinterpret_cast<const void*>(block.begin), block.length(), PageShift::of(base_page()));
        if (!frames.complete() || frames.addresses.front().value() % block.length() != block.begin % block.length())
            return false;
        for (std::size_t i = 1; i < frames.addresses.size(); ++i)
            if (frames.addresses[i] != frames.addresses.front() + i * base_page())
                return false;
        return true;
    } catch (const Error&) {
        return false; // then it stays small
    }
}

//! The range in whole pages of the hugepages that it lies in; in the 2 MiB around it, if \p grow and these cost no
//! more; else as it is. Mappings are in order of address.
Range larger_pages(const Range& asked, const std::vector<host::MappedMemory>& mappings, std::size_t most, bool grow)
{
    static constexpr std::size_t block = 2_MiB;
    const auto mapping = std::ranges::upper_bound(mappings, asked.begin, {}, &host::MappedMemory::end);
    if (mapping == mappings.end())
        return asked;
    const Range there{mapping->begin, mapping->end};
    if (!there.covers(asked))
        return asked;
    if (mapping->page_size > base_page()) {
        const Range pages = whole_pages(asked, mapping->page_size);
        return there.covers(pages) && pages.length() <= std::max(most, asked.length()) ? pages : asked;
    }
    const Range pages = whole_pages(asked, block);
    if (grow && block <= most && pages.length() == block && pages != asked && there.covers(pages) &&
        is_one_page(pages))
        return pages;
    return asked;
}

} // namespace
} // namespace cache

std::optional<std::vector<host::MappedMemory>> CacheState::mappings_of(const Range& range) const
{
    if (watch_)
        if (const auto known = watch_->watcher().known(range))
            return std::vector{*known};
    return host::mapped_memory(reinterpret_cast<const void*>(range.begin), range.length());
}

void CacheState::round(Open& open) const
{
    Range all{~std::uintptr_t{0}, 0};
    for (Open::Rest& one : open.rest) {
        one.asked = cache::range_of(open.requests[one.request].memory);
        if (!has_remote_right(open.access(one))) {
            // A page is mapped as a whole, whatever of it the request names.
            one.asked = cache::whole_pages(one.asked, cache::base_page());
            all = {std::min(all.begin, one.asked.begin), std::max(all.end, one.asked.end)};
        }
        one.larger = one.asked;
    }
    if (options_.merge_up_to == 0 || all.end == 0)
        return;
    const auto mappings = mappings_of(all);
    if (!mappings)
        return;
    const bool grow = options_.grow && domain_.dma_view() == DmaView::frames;
    for (Open::Rest& one : open.rest)
        if (!has_remote_right(open.access(one)))
            one.larger = cache::larger_pages(one.asked, *mappings, options_.merge_up_to, grow);
}

std::vector<Wanted> CacheState::ranges_for(Open& open) const
{
    std::ranges::sort(open.rest, {}, [&](const Open::Rest& one) {
        return std::tuple{open.access(one), one.larger.begin, one.larger.end};
    });
    std::vector<Wanted> wanted;
    for (Open::Rest& one : open.rest) {
        const Access access = open.access(one);
        if (!wanted.empty() && wanted.back().access == access) {
            Wanted& last = wanted.back();
            const Range both{last.range.begin, std::max(last.range.end, one.larger.end)};
            const bool same = both == last.range && (!has_remote_right(access) || one.larger == last.range);
            const bool mergeable = !has_remote_right(access) && one.larger.begin <= last.range.end &&
                                   both.length() <= options_.merge_up_to;
            if (same || mergeable) {
                last.merged = last.merged || !same;
                last.range = both;
                last.asked = {std::min(last.asked.begin, one.asked.begin), std::max(last.asked.end, one.asked.end)};
                one.wanted = wanted.size() - 1;
                continue;
            }
        }
        one.wanted = wanted.size();
        wanted.push_back({.asked = one.asked, .range = one.larger, .access = access});
    }
    // One of a batch's regions must not become smaller for want of room: requests after it may need all of it.
    for (Wanted& one : wanted)
        if (one.merged)
            one.asked = one.range;
    return wanted;
}

// A neighbour is pinned again with what it is merged with. So it is taken only if it is no longer than what there is:
// then a page that is asked for again and again at the end of others is pinned anew as often as the length doubles.
// And those beside it are taken only if there are many: else most misses would pin two or three times what they need,
// which costs more than a few entries are worth. Where it overlaps one, pages would be pinned twice otherwise.
void CacheState::add_neighbours(Wanted& wanted)
{
    static constexpr std::ptrdiff_t look_back = 4; // longer ones may begin far before; merging is no duty
    static constexpr std::size_t many = 4;         // times what is asked for
    if (has_remote_right(wanted.access) || wanted.range.length() >= options_.merge_up_to)
        return;
    bool seen_who_holds = false;
    bool any_overlaps = false;
    std::uint64_t entries = 0;
    const auto begin_of = [&](std::uint32_t index) { return holdings_[index].range.begin; };
    Range range = wanted.range;
    for (bool more = true; more;) {
        more = false;
        auto from = std::ranges::lower_bound(alive_, range.begin, {}, begin_of);
        from -= std::min(look_back, from - alive_.begin());
        for (auto at = from; at != alive_.end() && begin_of(*at) <= range.end; ++at) {
            const Holding& there = holdings_[*at];
            const Range both{std::min(range.begin, there.range.begin), std::max(range.end, there.range.end)};
            if (there.range.end < range.begin || range.covers(there.range) || there.access != wanted.access ||
                there.range.length() > range.length() || both.length() > options_.merge_up_to ||
                marks_[*at].is() != Mark::Is::alive)
                continue;
            // Whoever takes one meanwhile keeps it, when the others go.
            if (!std::exchange(seen_who_holds, true))
                glance_who_holds();
            if (held_[*at])
                continue;
            any_overlaps = any_overlaps || there.range.overlaps(wanted.range);
            range = both;
            entries += there.charge.entries;
            more = true;
        }
    }
    if (entries == 0 || (!any_overlaps && range.length() < many * wanted.range.length()) ||
        !fits(cache::charge_of(range)))
        return;
    wanted.range = range;
    wanted.neighbours_entries = entries;
    wanted.merged = true;
}

} // namespace mrz
