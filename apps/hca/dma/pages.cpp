// SPDX-License-Identifier: BSD-3-Clause
#include "dma/pages.hpp"

#include <algorithm>
#include <cerrno>
#include <limits>
#include <string>
#include <utility>

namespace mrz::dma {
namespace {

[[noreturn]] void refuse(std::string limit)
{
    throw Error{EINVAL,
                {.trouble = Trouble::invalid,
                 .what = "using a list of pages",
                 .limit = std::move(limit),
                 .remedy = "let the driver give another"}};
}

} // namespace

PageList::PageList(std::vector<DmaAddress> pages, unsigned page_shift, std::uint64_t offset)
    : pages_{std::move(pages)}, page_shift_{page_shift}, offset_{offset}
{
    if (page_shift > 63)
        refuse("a page has at most 2^63 bytes");
    if (pages_.size() > std::numeric_limits<std::uint64_t>::max() >> page_shift)
        refuse("all pages together have fewer than 2^64 bytes");
    if (offset != 0 && (pages_.empty() || offset >> page_shift != 0))
        refuse("the offset is inside of the first page");
    bytes_ = (std::uint64_t{pages_.size()} << page_shift) - offset;
}

bool PageList::holds(std::uint64_t at, std::size_t length) const noexcept
{
    return at <= bytes_ && length <= bytes_ - at;
}

std::optional<DmaAddress> PageList::address(std::uint64_t at) const noexcept
{
    if (at >= bytes_)
        return std::nullopt;
    const std::uint64_t inside = at + offset_;
    const std::uint64_t mask = (std::uint64_t{1} << page_shift_) - 1;
    return pages_[inside >> page_shift_] + (inside & mask);
}

std::size_t PageList::left_in_page(std::uint64_t at, std::size_t most) const noexcept
{
    const std::uint64_t page = std::uint64_t{1} << page_shift_;
    return static_cast<std::size_t>(std::min<std::uint64_t>(most, page - ((at + offset_) & (page - 1))));
}

bool PageList::read(Bus& bus, std::uint64_t at, std::span<std::byte> into) const noexcept
{
    if (!holds(at, into.size()))
        return false;
    while (!into.empty()) {
        const std::size_t bytes = left_in_page(at, into.size());
        if (!dma::read(bus, *address(at), into.first(bytes)))
            return false;
        into = into.subspan(bytes);
        at += bytes;
    }
    return true;
}

bool PageList::write(Bus& bus, std::uint64_t at, std::span<const std::byte> from) const noexcept
{
    if (!holds(at, from.size()))
        return false;
    while (!from.empty()) {
        const std::size_t bytes = left_in_page(at, from.size());
        if (!dma::write(bus, *address(at), from.first(bytes)))
            return false;
        from = from.subspan(bytes);
        at += bytes;
    }
    return true;
}

} // namespace mrz::dma
