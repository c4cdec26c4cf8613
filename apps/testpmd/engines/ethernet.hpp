// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! What several engines do to Ethernet headers, and how an engine goes through a burst.
#pragma once

#include "../stream.hpp"

#include <rte_branch_prediction.h>
#include <rte_prefetch.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace mrz::testpmd {

//! Calls \p each with each packet, while the next one's first bytes are on their way into the cache. For engines that
//! read what they then decide upon. Those that only write a header, or turn it round, are quicker without: the
//! processor sees far enough ahead by itself. (mac with external buffers: 38.3 cycles a packet with, 36.4 without;
//! with 16,384 buffers in turn, which no cache holds, within 3 % of each other. Xeon, 2.8 GHz, two net_null ports.)
template <class F>
__rte_always_inline void for_each_packet(rte_mbuf** packets, std::uint16_t count, F each)
{
    for (std::uint16_t i = 0; i < count; ++i) {
        if (likely(i + 1 < count))
            rte_prefetch0(rte_pktmbuf_mtod(packets[i + 1], void*));
        each(packets[i]);
    }
}

//! Destination and source, as they begin a packet. Kept as two numbers, which stay in registers.
class Addresses {
  public:
    Addresses(const rte_ether_addr& destination, const rte_ether_addr& source) noexcept
    {
        std::array<std::uint8_t, size> bytes;
        std::memcpy(bytes.data(), &destination, sizeof destination);
        std::memcpy(bytes.data() + sizeof destination, &source, sizeof source);
        std::memcpy(&first_, bytes.data(), sizeof first_);
        std::memcpy(&last_, bytes.data() + sizeof first_, sizeof last_);
    }

    //! Does nothing to a packet that is too short for them, or whose first segment is.
    void write(rte_mbuf* packet) const noexcept
    {
        if (unlikely(packet->data_len < size))
            return;
        auto* const bytes = rte_pktmbuf_mtod(packet, std::uint8_t*);
        std::memcpy(bytes, &first_, sizeof first_);
        std::memcpy(bytes + sizeof first_, &last_, sizeof last_);
    }

  private:
    static constexpr std::size_t size = 2 * RTE_ETHER_ADDR_LEN;

    std::uint64_t first_;
    std::uint32_t last_;
};

//! Does nothing to a packet that is too short for them, or whose first segment is.
inline void swap_addresses(rte_mbuf* packet) noexcept
{
    using Vector [[gnu::vector_size(16)]] = std::uint8_t;
    constexpr std::size_t addresses = 2 * RTE_ETHER_ADDR_LEN;
    auto* const bytes = rte_pktmbuf_mtod(packet, std::uint8_t*);
    if (likely(packet->data_len >= sizeof(Vector))) {
        Vector header;
        std::memcpy(&header, bytes, sizeof header);
        header = __builtin_shufflevector(header, header, 6, 7, 8, 9, 10, 11, 0, 1, 2, 3, 4, 5, 12, 13, 14, 15);
        std::memcpy(bytes, &header, sizeof header);
    } else if (packet->data_len >= addresses) {
        std::swap_ranges(bytes, bytes + RTE_ETHER_ADDR_LEN, bytes + RTE_ETHER_ADDR_LEN);
    }
}

} // namespace mrz::testpmd
