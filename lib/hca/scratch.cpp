// SPDX-License-Identifier: BSD-3-Clause
#include <hca/scratch.hpp>

#include <algorithm>
#include <cstring>

namespace mrz::hca {

bool resolve(Bus& bus, std::span<const DmaSegment> segments, Direction direction, std::vector<Piece>& pieces)
{
    for (DmaSegment segment : segments) {
        if (segment.null) {
            pieces.push_back({nullptr, segment.length});
            continue;
        }
        while (segment.length != 0) {
            const std::span<std::byte> bytes = bus.memory(segment.at, segment.length, direction);
            if (bytes.empty())
                return false;
            const std::uint64_t length = std::min<std::uint64_t>(bytes.size(), segment.length);
            pieces.push_back({bytes.data(), length});
            segment.at = segment.at + length;
            segment.length -= length;
        }
    }
    return true;
}

void copy(std::span<const Piece> to, std::span<const Piece> from) noexcept
{
    std::uint64_t to_offset = 0;
    std::uint64_t from_offset = 0;
    while (!to.empty() && !from.empty()) {
        const std::uint64_t length = std::min(to.front().length - to_offset, from.front().length - from_offset);
        if (length != 0 && to.front().data != nullptr) {
            std::byte* const target = to.front().data + to_offset;
            // Both sides may be the same memory, when a program sends to itself.
            if (from.front().data != nullptr)
                std::memmove(target, from.front().data + from_offset, length);
            else
                std::memset(target, 0, length);
        }
        to_offset += length;
        from_offset += length;
        if (to_offset == to.front().length) {
            to = to.subspan(1);
            to_offset = 0;
        }
        if (from_offset == from.front().length) {
            from = from.subspan(1);
            from_offset = 0;
        }
    }
}

} // namespace mrz::hca
