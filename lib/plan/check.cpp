// SPDX-License-Identifier: BSD-3-Clause
#include "check.hpp"

#include <cerrno>
#include <utility>

namespace mrz {
namespace {

void check_shifts(PageShift smallest, PageShift largest, const std::string& of, const std::string& remedy)
{
    if (smallest > largest)
        refuse("the smallest " + of + " shift (" + std::to_string(smallest.value()) + ") is above the largest (" +
                   std::to_string(largest.value()) + ")",
               {.limit = "the largest " + of + " shift", .present = largest.value(), .need = smallest.value()},
               remedy);
}

// A length in whole kernel pages, as memory is pinned in these.
void check_length(const std::string& name, std::uint64_t bytes, const std::string& remedy)
{
    if (bytes == 0 || bytes % 4096 != 0)
        refuse(name + " is " + std::to_string(bytes) + " bytes",
               {.limit = name + ", in bytes,", .present = bytes, .need = (bytes / 4096 + 1) * 4096}, remedy);
}

void check_count(const std::string& name, const std::optional<std::uint64_t>& count)
{
    if (count && *count == 0)
        refuse("a key may have no entries", {.limit = name, .present = 0, .need = 1},
               "give a positive count, or none");
}

} // namespace

void refuse(std::string what, Refused by, std::string remedy)
{
    throw Error{EINVAL,
                {.trouble = Trouble::invalid,
                 .what = std::move(what),
                 .limit = std::move(by.limit),
                 .present = by.present,
                 .need = by.need,
                 .remedy = std::move(remedy)}};
}

void check_limits(const Limits& limits)
{
    check_shifts(limits.min_page_shift, limits.max_page_shift, "page",
                 "give limits with min_page_shift <= max_page_shift");
    if (limits.max_segment)
        check_length("the longest DMA segment", *limits.max_segment, "give a positive multiple of 4096, or none");
    check_count("the most MTT entries of a key", limits.max_mtt_entries);
    check_count("the most entries of an indirect key", limits.indirect.max_entries);
    check_length("the longest KLM entry", limits.indirect.max_klm_bytes, "give a positive multiple of 4096");
    check_shifts(limits.indirect.min_ksm_shift, limits.indirect.max_ksm_shift, "KSM entry",
                 "give limits with min_ksm_shift <= max_ksm_shift");
}

} // namespace mrz
