// SPDX-License-Identifier: BSD-3-Clause
#include "segment_table.hpp"

#include <new>
#include <tuple>

namespace mrz {
namespace {

constexpr std::align_val_t alignment{64}; // so that no node lies over the end of a cache line
constexpr std::size_t children = 4;

//! Calls \p visit with those regions of which a look-up can be answered: where one starts, and no region that starts
//! before reaches as far. Of all that start at or before an address, the last of these is the one with the farthest
//! end; so if it does not cover what is asked for, none does.
template <class Visit>
void each_that_counts(std::span<const SearchedRegion> sorted, bool writable_only, Visit visit)
{
    std::uint64_t farthest = 0;
    for (const SearchedRegion& region : sorted) {
        if (region.end <= farthest || (writable_only && !region.writable))
            continue;
        farthest = region.end;
        visit(region);
    }
}

} // namespace

bool operator<(const SearchedRegion& a, const SearchedRegion& b) noexcept
{
    return std::tie(a.start, b.end, a.number) < std::tie(b.start, a.end, b.number);
}

void SegmentTable::Free::operator()(mrz_lookup_table_* table) const noexcept
{
    ::operator delete(table, alignment);
}

SegmentTable::SegmentTable(std::size_t segments, std::size_t separators)
    : segments_{segments}, bytes_{sizeof(mrz_lookup_table_) + separators * sizeof(std::uint64_t) +
                                  segments * (sizeof(mrz_lookup_segment_) + sizeof(void*))},
      table_{static_cast<mrz_lookup_table_*>(::operator new(
          sizeof(mrz_lookup_table_) + separators * sizeof(std::uint64_t) + segments * sizeof(mrz_lookup_segment_),
          alignment))}
{
    auto* const starts = reinterpret_cast<std::uint64_t*>(new (table_.get()) mrz_lookup_table_{} + 1);
    first_ = reinterpret_cast<mrz_lookup_segment_*>(starts + separators);
    table_->segments = first_;
    foreign_.reserve(segments);
}

std::unique_ptr<SegmentTable> SegmentTable::make(std::span<const SearchedRegion> sorted, bool writable_only)
{
    std::size_t count = 0;
    each_that_counts(sorted, writable_only, [&](const SearchedRegion&) { ++count; });
    if (count == 0)
        return nullptr;
    std::size_t depth = 0;
    std::size_t room = 1; // segments below the last nodes
    for (; room < count; room *= children)
        ++depth;
    // Of the last nodes only those are there that have a segment below; of the others, all.
    const std::size_t first_below = (room - 1) / (children - 1);
    const std::size_t above = depth == 0 ? 0 : first_below - room / children;
    const std::size_t nodes = depth == 0 ? 0 : above + (count + children - 1) / children;

    std::unique_ptr<SegmentTable> made{new SegmentTable{count, nodes * children}};
    mrz_lookup_table_& table = *made->table_;
    table.depth = depth;
    table.first_below = first_below;
    auto* const starts = reinterpret_cast<std::uint64_t*>(&table + 1);
    // No address that is searched comes near this, so that what has no segment below is never entered.
    for (std::size_t i = 0; i < nodes * children; ++i)
        new (starts + i) std::uint64_t{UINT64_MAX};
    std::size_t number = 0;
    each_that_counts(sorted, writable_only, [&](const SearchedRegion& region) {
        if (number == 0)
            table.first = region.start;
        table.length = region.end - table.first;
        new (made->first_ + number) mrz_lookup_segment_{region.end, std::uint64_t{1} << 32 | region.key};
        made->foreign_.push_back(region.foreign);
        // Its start is in the last node up from it of which it is not below the first child.
        std::size_t place = first_below + number;
        while (place != 0 && (place - 1) % children == 0)
            place = (place - 1) / children;
        if (place != 0)
            starts[(place - 1) / children * children + (place - 1) % children - 1] = region.start;
        ++number;
    });
    return made;
}

void SegmentTable::forget(const SearchedRegion& region) noexcept
{
    for (std::size_t i = 0; i < segments_; ++i) {
        const bool is_it = region.foreign != nullptr ? foreign_[i] == region.foreign
                                                     : first_[i].end == region.end &&
                                                           static_cast<std::uint32_t>(first_[i].word) == region.key;
        if (is_it)
            forget_segment(i);
    }
}

void SegmentTable::forget_gone() noexcept
{
    for (std::size_t i = 0; i < segments_; ++i)
        if (foreign_[i] != nullptr && foreign_[i]->gone)
            forget_segment(i);
}

void SegmentTable::forget_segment(std::size_t number) noexcept
{
    __atomic_store_n(&first_[number].end, 0, __ATOMIC_RELAXED);
    foreign_[number] = nullptr;
}

} // namespace mrz
