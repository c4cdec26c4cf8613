// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Ranges, and which region serves whom. Private to this floor.
#pragma once

#include <mrzone/base.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace mrz::cache {

//! A range of addresses of this process.
struct Range {
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0; //!< One past the last byte.

    [[nodiscard]] std::size_t length() const noexcept { return end - begin; }
    [[nodiscard]] bool covers(const Range& other) const noexcept { return begin <= other.begin && end >= other.end; }
    [[nodiscard]] bool overlaps(const Range& other) const noexcept { return begin < other.end && other.begin < end; }
    friend bool operator==(const Range&, const Range&) = default;
};

//! [begin, end) of whole pages of \p page bytes around a range.
constexpr Range whole_pages(const Range& range, std::size_t page) noexcept
{
    return {range.begin / page * page, (range.end + page - 1) / page * page};
}
Range range_of(std::span<const std::byte> memory) noexcept;
std::span<std::byte> bytes_of(const Range& range) noexcept;
//! Bytes of the machine's smallest pages.
std::size_t base_page() noexcept;

//! Whether a region of \p there with the rights \p granted serves a request for \p range with \p wanted.
constexpr bool serves(const Range& there, Access granted, const Range& range, Access wanted) noexcept
{
    if (has_remote_right(granted) || has_remote_right(wanted))
        return there == range && granted == wanted;
    return there.covers(range) && grants(granted, wanted);
}

} // namespace mrz::cache
