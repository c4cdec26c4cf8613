// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! What several engines do to Ethernet headers, and how an engine goes through a burst.
#pragma once

#include "../stream.hpp"

#include <rte_branch_prediction.h>
#include <rte_prefetch.h>

#include <array>
#include <concepts>
#include <cstdint>
#include <cstring>

namespace mrz::testpmd {

//! Calls \p each with each packet, and its first byte if it takes that, while the next one's first bytes are on their
//! way into the cache. Where they are is worked out once a packet: that is a third of what a MAC address costs.
template <class F>
__rte_always_inline void for_each_packet(rte_mbuf** packets, std::uint16_t count, F each)
{
    auto* next = count > 0 ? rte_pktmbuf_mtod(packets[0], std::uint8_t*) : nullptr;
    for (std::uint16_t i = 0; i < count; ++i) {
        auto* const bytes = next;
        if (likely(i + 1 < count)) {
            next = rte_pktmbuf_mtod(packets[i + 1], std::uint8_t*);
            rte_prefetch0(next);
        }
        if constexpr (std::invocable<F, rte_mbuf*, std::uint8_t*>)
            each(packets[i], bytes);
        else
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

    void write(rte_mbuf* packet) const noexcept { write(packet, rte_pktmbuf_mtod(packet, std::uint8_t*)); }
    //! \p bytes are the packet's first. Does nothing to one that is too short for them, or whose first segment is.
    void write(const rte_mbuf* packet, std::uint8_t* bytes) const noexcept
    {
        if (likely(packet->data_len >= bytes_.size()))
            std::memcpy(bytes, bytes_.data(), bytes_.size());
    }

  private:
    std::array<std::uint8_t, 2 * RTE_ETHER_ADDR_LEN> bytes_;
};

//! \p bytes are the packet's first. Does nothing to one that is too short for them, or whose first segment is.
inline void swap_addresses(const rte_mbuf* packet, std::uint8_t* bytes) noexcept
{
    if (unlikely(packet->data_len < 2 * RTE_ETHER_ADDR_LEN))
        return;
    // Twelve bytes turned by six, in registers and in either byte order.
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
