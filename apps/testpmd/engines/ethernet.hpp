// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! What several engines do to Ethernet headers, and how an engine goes through a burst.
#pragma once

#include "../stream.hpp"

#include <rte_branch_prediction.h>
#include <rte_prefetch.h>

#include <array>
#include <cstdint>
#include <cstring>

namespace mrz::testpmd {

//! Calls \p each with each packet, while the next one's first bytes are on their way into the cache.
template <class F>
__rte_always_inline void for_each_packet(rte_mbuf** packets, std::uint16_t count, F each)
{
    for (std::uint16_t i = 0; i < count; ++i) {
        if (likely(i + 1 < count))
            rte_prefetch0(rte_pktmbuf_mtod(packets[i + 1], void*));
        each(packets[i]);
    }
}

//! Destination and source, as they begin a packet.
class Addresses {
  public:
    Addresses(const rte_ether_addr& destination, const rte_ether_addr& source) noexcept
    {
        std::memcpy(bytes_.data(), &destination, sizeof destination);
        std::memcpy(bytes_.data() + sizeof destination, &source, sizeof source);
    }

    //! Does nothing to a packet that is too short for them, or whose first segment is.
    void write(rte_mbuf* packet) const noexcept
    {
        if (likely(packet->data_len >= bytes_.size()))
            std::memcpy(rte_pktmbuf_mtod(packet, void*), bytes_.data(), bytes_.size());
    }

  private:
    std::array<std::uint8_t, 2 * RTE_ETHER_ADDR_LEN> bytes_;
};

//! Does nothing to a packet that is too short for them, or whose first segment is.
inline void swap_addresses(rte_mbuf* packet) noexcept
{
    if (unlikely(packet->data_len < 2 * RTE_ETHER_ADDR_LEN))
        return;
    // Twelve bytes turned by six, in registers and in either byte order.
    auto* bytes = rte_pktmbuf_mtod(packet, std::uint8_t*);
    std::uint64_t first;
    std::uint32_t last;
    std::memcpy(&first, bytes, sizeof first);
    std::memcpy(&last, bytes + sizeof first, sizeof last);
    const std::uint64_t new_first = first >> 48 | first << 48 | std::uint64_t{last} << 16;
    const auto new_last = static_cast<std::uint32_t>(first >> 16);
    std::memcpy(bytes, &new_first, sizeof new_first);
    std::memcpy(bytes + sizeof new_first, &new_last, sizeof new_last);
}

} // namespace mrz::testpmd
