// SPDX-License-Identifier: BSD-3-Clause
#include <mrzone/plan.hpp>

#include "check.hpp"

#include <algorithm>
#include <limits>

namespace mrz {

Layout Layout::of_pages(std::span<const DmaAddress> frames, PageShift page)
{
    Layout layout;
    for (const DmaAddress frame : frames)
        layout.append(frame, page.bytes());
    return layout;
}

Layout Layout::worst_case(PageShift page, std::size_t count)
{
    constexpr std::uint64_t half_of_all = std::uint64_t{1} << 63;
    if (count > half_of_all / page.bytes())
        refuse(std::to_string(count) + " pages of " + format_size(page.bytes()) + " pass any address space",
               {.limit = "the most pages of that size", .present = half_of_all / page.bytes(), .need = count},
               "give fewer pages");
    // Every second frame, downwards. Nothing is contiguous, and the first frame is an even one, so that at any page
    // aligned address either it or the second page keeps pages from being larger.
    Layout layout;
    for (std::size_t i = 0; i < count; ++i)
        layout.append(DmaAddress{2 * (count - 1 - i) * page.bytes()}, page.bytes());
    return layout;
}

void Layout::append(DmaAddress dma, std::size_t length)
{
    constexpr std::uint64_t last_address = std::numeric_limits<std::uint64_t>::max();
    if (length == 0)
        refuse("an extent of 0 bytes at DMA address " + format_hex(dma.value()),
               {.limit = "the extent's length, in bytes,", .present = 0, .need = 1}, "give a positive length");
    if (length - 1 > last_address - dma.value())
        refuse("an extent of " + std::to_string(length) + " bytes at DMA address " + format_hex(dma.value()) +
                   " ends past 2^64",
               {.limit = "the bytes from there to 2^64, less one,",
                .present = last_address - dma.value(),
                .need = length - 1},
               "give an extent within the address space");
    const std::size_t offset = this->length();
    if (length > std::numeric_limits<std::size_t>::max() - offset)
        refuse("a layout of " + std::to_string(offset) + " and " + std::to_string(length) +
                   " more bytes reaches 2^64",
               {.limit = "the bytes that it may still grow by", .present = last_address - offset, .need = length},
               "give a shorter layout");

    if (!extents_.empty()) {
        Extent& last = extents_.back();
        // An extent that ends at 2^64 wraps to 0; what lies at 0 does not continue it.
        if (const DmaAddress end = last.dma + last.length; end == dma && end.value() != 0) {
            last.length += length;
            return;
        }
    }
    extents_.push_back({.offset = offset, .dma = dma, .length = length});
}

Layout Layout::part(std::size_t offset, std::size_t length) const
{
    if (length == 0 || offset > this->length() || length > this->length() - offset)
        refuse(std::to_string(length) + " bytes of a layout from " + std::to_string(offset) + " on",
               {.limit = "the layout's length, in bytes,", .present = this->length(), .need = offset + length},
               "give a part that lies within it and is not empty");
    Layout part;
    const auto after = std::ranges::upper_bound(extents_, offset, {}, &Extent::offset);
    for (auto extent = after - 1; part.length() < length; ++extent) {
        const std::size_t skipped = part.length() == 0 ? offset - extent->offset : 0;
        part.append(extent->dma + skipped, std::min(extent->length - skipped, length - part.length()));
    }
    return part;
}

std::size_t Layout::length() const noexcept
{
    return extents_.empty() ? 0 : extents_.back().offset + extents_.back().length;
}

} // namespace mrz
