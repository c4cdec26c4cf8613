// SPDX-License-Identifier: BSD-3-Clause
#include <mrzone/plan.hpp>

#include "check.hpp"
#include "one_key.hpp"

namespace mrz {
namespace {

std::string remedy(LimitTerm term, unsigned min_shift)
{
    const std::string size = format_size(std::uint64_t{1} << min_shift);
    switch (term) {
    case LimitTerm::congruence:
        return "choose an iova that agrees with the DMA address below " + size + ", or no iova";
    case LimitTerm::breaks:
        return "order the memory so that each extent begins at a multiple of " + size;
    case LimitTerm::length:
        return "register a multiple of " + size;
    case LimitTerm::segment:
        return "place runs so that segments begin at a multiple of " + size;
    case LimitTerm::device:
        break;
    }
    return "use a device with other page sizes";
}

[[noreturn]] void refuse_page_size(const LimitedBy& limit, const Limits& limits)
{
    const unsigned min_shift = limits.min_page_shift.value();
    refuse("no page size of the device fits the layout at iova " + format_hex(limit.at.value()),
           {.limit = std::string{to_string(limit.term)} + ": the largest page it allows, in bytes,",
            .present = std::uint64_t{1} << limit.bit,
            .need = std::uint64_t{1} << min_shift},
           remedy(limit.term, min_shift));
}

Iova choose_iova(const Part& part, const Limits& limits)
{
    const std::optional<Iova> best = best_iova(part, limits);
    if (!best)
        refuse("no iova leaves room for a key of " + std::to_string(part.length()) + " bytes below 2^64",
               {.limit = "the length of a key, in bytes,", .present = part.length()}, "register less in one key");
    return *best;
}

} // namespace

Plan make_plan(const Layout& layout, std::optional<Iova> iova, const Limits& limits)
{
    check_limits(limits);
    const std::size_t length = layout.length();
    if (length == 0)
        refuse("a layout without memory cannot be planned",
               {.limit = "the layout's length, in bytes,", .present = 0, .need = 1}, "append at least one extent");
    const Part whole{layout};
    const bool chosen = !iova;
    if (!iova)
        iova = choose_iova(whole, limits);
    if (!fits(*iova, length))
        refuse("a key of " + std::to_string(length) + " bytes at iova " + format_hex(iova->value()) +
                   " ends past 2^64",
               {.limit = "the bytes from there to 2^64, less one,", .present = ~iova->value(), .need = length - 1},
               "choose a lower iova");

    const PlannedKey key = plan_one_key(whole, *iova, limits);
    if (!is_possible(key, limits))
        refuse_page_size(key.limit, limits);
    if (limits.max_mtt_entries && key.entries > *limits.max_mtt_entries)
        refuse("one key over " + format_size(length) + " with pages of " + format_size(key.page_shift.bytes()),
               {.limit = "the most MTT entries of a key", .present = *limits.max_mtt_entries, .need = key.entries},
               "register less in one key");

    Plan plan;
    plan.bytes = length;
    plan.limit = key.limit;
    if (!chosen && key.limit.term == LimitTerm::congruence)
        if (const std::optional<Iova> other = best_iova(whole, limits)) {
            const PlannedKey there = plan_one_key(whole, *other, limits);
            if (is_possible(there, limits) && there.entries < key.entries)
                plan.better = BetterIova{.iova = *other, .entries = there.entries};
        }
    if (limits.rule == PageSizeRule::umem)
        plan.umems.push_back({.offset = 0, .length = length, .page_shift = key.page_shift});
    plan.keys.push_back(key);
    return plan;
}

} // namespace mrz
