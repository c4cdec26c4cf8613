// SPDX-License-Identifier: BSD-3-Clause
#include <mrzone/plan.hpp>

#include <numeric>

namespace mrz {
namespace {

std::string counted(std::uint64_t count, std::string_view one, std::string_view many)
{
    return std::to_string(count) + ' ' + std::string{count == 1 ? one : many};
}

std::string reason(const Plan& plan)
{
    const std::string at = "iova " + format_hex(plan.limit.at.value());
    const std::string bit = "bit " + std::to_string(plan.limit.bit);
    const std::string size = format_size(std::uint64_t{1} << plan.limit.bit);
    const bool umem = !plan.umems.empty();
    switch (plan.limit.term) {
    case LimitTerm::congruence:
        if (umem)
            return at + " and its DMA address are not both aligned to more than " + size;
        return at + " and its DMA address differ in " + bit;
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

std::uint64_t Plan::mtt_entries() const noexcept
{
    return std::accumulate(keys.begin(), keys.end(), std::uint64_t{0},
                           [](std::uint64_t sum, const PlannedKey& key) { return sum + key.entries; });
}

std::uint64_t Plan::total_entries() const noexcept
{
    return mtt_entries();
}

std::uint64_t Plan::cost() const noexcept
{
    return keys.size() + total_entries();
}

std::string Plan::explain() const
{
    std::string line = counted(keys.size(), "key", "keys") + ", " + counted(mtt_entries(), "entry", "entries");
    if (keys.size() == 1)
        line += " of " + format_size(keys.front().page_shift.bytes());
    return line + "; limited by " + std::string{to_string(limit.term)} + ": " + reason(*this);
}

} // namespace mrz
