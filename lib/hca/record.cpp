// SPDX-License-Identifier: BSD-3-Clause
#include "record.hpp"

#include "refuse.hpp"

#include <string>
#include <utility>

namespace mrz::hca {
namespace {

std::string naming(const MkeySpec& spec)
{
    return "create a " + std::string{to_string(spec.mode)} + " key of " + format_size(spec.length) + " at " +
           format_hex(spec.start.value());
}

// Whether [begin, begin + length) runs over the end of the address space.
bool wraps(std::uint64_t begin, std::uint64_t length)
{
    return length != 0 && begin + (length - 1) < begin;
}

// Naturally aligned pages that [start, start + length) touches.
std::uint64_t pages_touched(const MkeySpec& spec)
{
    const std::uint64_t last = spec.start.value() + (spec.length - 1);
    return (last >> spec.page_shift) - (spec.start.value() >> spec.page_shift) + 1;
}

void check_page_shift(const MkeySpec& spec, const KeyLimits& limits)
{
    if (spec.page_shift < 12)
        refuse_invalid(naming(spec), "the smallest page shift", 12, spec.page_shift);
    if (spec.page_shift > limits.max_page_shift)
        refuse_invalid(naming(spec), "the adapter's largest page shift", limits.max_page_shift, spec.page_shift);
}

void check_covered(const MkeySpec& spec, std::uint64_t entries)
{
    const std::uint64_t needed = pages_touched(spec);
    if (entries < needed)
        refuse_invalid(naming(spec), "the number of its entries of " + format_size(1ULL << spec.page_shift), entries,
                       needed, "the first entry covers the aligned page that the start is in");
}

void check_pages(const MkeySpec& spec, const KeyLimits& limits)
{
    check_page_shift(spec, limits);
    check_covered(spec, spec.pages.size());
    const std::uint64_t mask = (1ULL << spec.page_shift) - 1;
    if (spec.page_offset && *spec.page_offset != (spec.start.value() & mask))
        refuse_invalid(naming(spec), "the start's place in its page", spec.start.value() & mask, *spec.page_offset,
                       "choose a start that agrees with the memory's offset in its page");
    for (const DmaAddress page : spec.pages) {
        if ((page.value() & mask) != 0)
            refuse_invalid(naming(spec), "a page at DMA address " + format_hex(page.value()) +
                                             " is no multiple of the page size " + format_size(mask + 1));
    }
}

void check_fixed_pieces(const MkeySpec& spec, const KeyLimits& limits)
{
    check_page_shift(spec, limits);
    check_covered(spec, spec.entries.size());
    for (const IndirectEntry& entry : spec.entries) {
        if (wraps(entry.iova.value(), 1ULL << spec.page_shift))
            refuse_invalid(naming(spec), "the piece at " + format_hex(entry.iova.value()) + " wraps around");
    }
}

std::vector<std::uint64_t> ends_of_pieces(const MkeySpec& spec)
{
    std::vector<std::uint64_t> ends;
    ends.reserve(spec.entries.size());
    std::uint64_t sum = 0;
    for (const IndirectEntry& entry : spec.entries) {
        if (wraps(entry.iova.value(), entry.length))
            refuse_invalid(naming(spec), "the piece at " + format_hex(entry.iova.value()) + " wraps around");
        if (__builtin_add_overflow(sum, entry.length, &sum))
            refuse_invalid(naming(spec), "the pieces together are longer than the address space");
        ends.push_back(sum);
    }
    if (sum < spec.length)
        refuse_invalid(naming(spec), "the bytes in its entries", sum, spec.length);
    return ends;
}

} // namespace

MkeyRecord checked_record(MkeySpec spec, const KeyLimits& limits)
{
    if (spec.length == 0)
        refuse_invalid(naming(spec), "the smallest length", 1, 0);
    if (wraps(spec.start.value(), spec.length))
        refuse_invalid(naming(spec), "it runs over the end of the address space");
    if (spec.mode != KeyMode::mtt && !spec.pages.empty())
        refuse_invalid(naming(spec), "only an MTT key has pages");
    if (spec.mode != KeyMode::klm && spec.mode != KeyMode::ksm && !spec.entries.empty())
        refuse_invalid(naming(spec), "only a KLM or KSM key has pieces of other keys");

    MkeyRecord record;
    switch (spec.mode) {
    case KeyMode::pa:
    case KeyMode::null:
        break;
    case KeyMode::mtt:
        check_pages(spec, limits);
        record.info.page_shift = spec.page_shift;
        break;
    case KeyMode::ksm:
        check_fixed_pieces(spec, limits);
        record.info.page_shift = spec.page_shift;
        break;
    case KeyMode::klm:
        record.ends = ends_of_pieces(spec);
        break;
    }
    record.info.mode = spec.mode;
    record.info.pd = spec.pd;
    record.info.every_pd = spec.every_pd;
    record.info.privileged = spec.privileged;
    record.info.rights = spec.rights;
    record.info.start = spec.start;
    record.info.length = spec.length;
    record.info.entry_count = spec.pages.size() + spec.entries.size();
    record.pages = std::move(spec.pages);
    record.entries = std::move(spec.entries);
    return record;
}

} // namespace mrz::hca
