// SPDX-License-Identifier: BSD-3-Clause
#include <mrzone/plan.hpp>

#include <algorithm>
#include <numeric>

namespace mrz {
namespace {

std::string counted(std::uint64_t count, std::string_view one, std::string_view many)
{
    return std::to_string(count) + ' ' + std::string{count == 1 ? one : many};
}

std::string page_of(unsigned shift)
{
    return shift > 63 ? "any size" : format_size(std::uint64_t{1} << shift);
}

// Where a key's limit is. Each of several keys has an iova of its own, which tells nothing of where in memory
// that is.
std::string place(const PlannedKey& key, bool alone)
{
    if (alone)
        return "iova " + format_hex(key.limit.at.value());
    return "the iova of offset " + format_hex(key.offset + (key.limit.at.value() - key.iova.value()));
}

std::string reason(const LimitedBy& limit, const std::string& at, bool umem)
{
    const std::string size = page_of(limit.bit);
    switch (limit.term) {
    case LimitTerm::congruence:
        if (umem)
            return at + " and its DMA address are not both aligned to more than " + size;
        return at + " and its DMA address differ in bit " + std::to_string(limit.bit);
    case LimitTerm::breaks:
        return "an extent begins at " + at + ", aligned only to " + size;
    case LimitTerm::length:
        if (umem)
            return "it is no multiple of a larger page";
        return "one page covers it all";
    case LimitTerm::device:
        return "the device has no larger page";
    case LimitTerm::segment:
        return "a DMA segment ends at " + at + ", aligned only to " + size;
    }
    return {};
}

// What would let the key have larger pages.
std::string removal(const LimitedBy& limit, bool umem)
{
    const std::string larger = page_of(limit.bit + 1);
    switch (limit.term) {
    case LimitTerm::congruence:
        return "memory whose extents agree with their iovas below " + larger + " would remove that";
    case LimitTerm::breaks:
        return "extents that begin at multiples of " + larger + " would remove that";
    case LimitTerm::length:
        return umem ? "a multiple of " + larger + " would remove that" : std::string{};
    case LimitTerm::device:
        return "only pages of " + larger + " would remove that";
    case LimitTerm::segment:
        return "longer DMA segments, or ends of segments at multiples of " + larger + ", would remove that";
    }
    return {};
}

// The first of the keys with the most entries: the plan's limit is its.
const PlannedKey& largest_key(const Plan& plan)
{
    return *std::max_element(plan.keys.begin(), plan.keys.end(),
                             [](const PlannedKey& a, const PlannedKey& b) { return a.entries < b.entries; });
}

std::string counts(const Plan& plan)
{
    std::string text = counted(plan.keys.size(), "key", "keys");
    if (plan.indirect) {
        text = "1 key over " + std::to_string(plan.keys.size());
        text += plan.indirect->kind == IndirectKind::ksm
                    ? " (KSM of " + format_size(plan.indirect->entry_shift.value().bytes()) + ")"
                    : " (KLM)";
    }
    text += ", " + counted(plan.mtt_entries(), "entry", "entries");
    if (plan.keys.size() == 1)
        text += " of " + format_size(plan.keys.front().page_shift.bytes());
    if (plan.indirect)
        text += " and " + counted(plan.indirect_entries(), "indirect one", "indirect ones");
    return text;
}

} // namespace

std::string_view to_string(LimitTerm term)
{
    switch (term) {
    case LimitTerm::congruence:
        return "congruence";
    case LimitTerm::breaks:
        return "break";
    case LimitTerm::length:
        return "length";
    case LimitTerm::device:
        return "device";
    case LimitTerm::segment:
        return "segment";
    }
    return "unknown";
}

std::string_view to_string(IndirectKind kind)
{
    return kind == IndirectKind::ksm ? "ksm" : "klm";
}

std::uint64_t Plan::mtt_entries() const noexcept
{
    return std::accumulate(keys.begin(), keys.end(), std::uint64_t{0},
                           [](std::uint64_t sum, const PlannedKey& key) { return sum + key.entries; });
}

std::uint64_t Plan::indirect_entries() const noexcept
{
    return indirect ? indirect->entries.size() : 0;
}

std::uint64_t Plan::total_entries() const noexcept
{
    return mtt_entries() + indirect_entries();
}

std::uint64_t Plan::cost() const noexcept
{
    return weights.mtt * mtt_entries() + weights.mkey * (keys.size() + (indirect ? 1 : 0)) +
           weights.indirect * indirect_entries();
}

Iova Plan::leads_to(const IndirectEntry& entry) const
{
    const PlannedKey& key = keys.at(entry.key);
    std::uint64_t at = key.iova.value() + (entry.offset - key.offset);
    if (indirect && indirect->entry_shift)
        at -= (indirect->iova.value() + entry.offset) & (indirect->entry_shift->bytes() - 1);
    return Iova{at};
}

std::string Plan::explain() const
{
    const bool umem = !umems.empty();
    const PlannedKey& key = largest_key(*this);
    std::string line = counts(*this) + "; limited by " + std::string{to_string(limit.term)};
    if (keys.size() > 1)
        line += " in the key of " + format_size(key.length) + " at offset " + format_hex(key.offset);
    line += ": " + reason(key.limit, place(key, keys.size() == 1), umem);
    if (better)
        line += "; placed at " + format_hex(better->iova.value()) + " it would be " +
                (keys.size() == 1 && !indirect ? "" : "1 key, ") + counted(better->entries, "entry", "entries");
    else if (key.entries > 1)
        line += "; " + removal(key.limit, umem);
    if (!proven)
        line += "; there may be a cheaper one, as the layout is too large to try all";
    return line;
}

} // namespace mrz
