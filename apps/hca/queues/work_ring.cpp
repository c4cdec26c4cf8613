// SPDX-License-Identifier: BSD-3-Clause
#include "queues/work_ring.hpp"

#include "queues/endian.hpp"

#include <algorithm>

namespace mrz::queues {

std::optional<std::uint16_t> WorkRing::produced(dma::Bus& bus) const noexcept
{
    const auto word = dma::load32(bus, record_);
    if (!word)
        return std::nullopt;
    return static_cast<std::uint16_t>(from_big(*word));
}

bool WorkRing::read(dma::Bus& bus, std::uint32_t index, std::span<std::byte> into) const noexcept
{
    const std::uint64_t ring = std::uint64_t{1} << (log_entries_ + log_entry_);
    std::uint64_t at = std::uint64_t{index & (entries() - 1)} << log_entry_;
    while (!into.empty()) {
        const std::size_t part = std::min<std::uint64_t>(into.size(), ring - at);
        if (!pages_.read(bus, offset_ + at, into.first(part)))
            return false;
        into = into.subspan(part);
        at = 0;
    }
    return true;
}

} // namespace mrz::queues
