// SPDX-License-Identifier: BSD-3-Clause
#include "pages.hpp"

#include <cerrno>

namespace mrz::soft {
namespace {

[[noreturn]] void refuse(const Layout& layout, Iova at, PageShift page)
{
    throw Error{ESTALE,
                {.trouble = Trouble::data,
                 .what = "registering " + format_size(layout.length()) + " with entries of " +
                         format_size(page.bytes()) + " as planned",
                 .limit = "frames moved between planning and pinning: the memory at " + format_hex(at.value()) +
                          " of the key's space does not fit its entry",
                 .remedy = "register again"}};
}

} // namespace

std::vector<DmaAddress> translation_pages(const Layout& layout, Iova start, PageShift page)
{
    const std::uint64_t mask = page.bytes() - 1;
    const std::uint64_t first = start.value() >> page.value();
    std::vector<DmaAddress> pages;
    for (const Extent& extent : layout.extents()) {
        const std::uint64_t at = start.value() + extent.offset;
        if (((at ^ extent.dma.value()) & mask) != 0)
            refuse(layout, Iova{at}, page);
        const std::uint64_t last = ((at + (extent.length - 1)) >> page.value()) - first;
        const std::uint64_t base = extent.dma.value() & ~mask;
        const std::uint64_t here = (at >> page.value()) - first;
        for (std::uint64_t index = here; index <= last; ++index) {
            const DmaAddress address{base + ((index - here) << page.value())};
            if (index < pages.size()) { // shared with the extent before
                if (pages[index] != address)
                    refuse(layout, Iova{at}, page);
            } else {
                pages.push_back(address);
            }
        }
    }
    return pages;
}

} // namespace mrz::soft
