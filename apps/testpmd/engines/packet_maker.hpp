// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! UDP packets of a shape, for the engines that make packets.
#pragma once

#include "../stream.hpp"

#include <rte_ether.h>
#include <rte_ip.h>
#include <rte_udp.h>

#include <cstdint>
#include <cstring>

namespace mrz::testpmd {

//! What begins each packet. It is copied as one block.
struct MadeHeaders {
    rte_ether_hdr ethernet;
    rte_ipv4_hdr ip;
    rte_udp_hdr udp;
} __rte_packed __rte_aligned(2);

//! Bytes of a packet that is nothing but them, and of the longest that IPv4 can describe.
constexpr std::uint32_t shortest_made = sizeof(MadeHeaders);
constexpr std::uint32_t longest_made = sizeof(rte_ether_hdr) + UINT16_MAX;

//! Who sends to whom. Addresses and ports in host byte order.
struct Flow {
    rte_ether_addr destination;
    rte_ether_addr source;
    std::uint32_t source_ip;
    std::uint32_t destination_ip;
    std::uint16_t source_port;
    std::uint16_t destination_port;
};

//! Takes buffers out of a pool and makes packets of them. What follows the headers is what the buffers held.
class PacketMaker {
  public:
    //! Makes no packet if \p shape has no room for the headers, or the pool's buffers none for a segment.
    PacketMaker(const Flow& flow, const PacketShape& shape, rte_mempool* pool) noexcept;

    //! \p next_headers gives each packet's. Stops where the pool is empty.
    //! \return how many packets it made, at most \p count.
    template <class F>
    std::uint16_t make(rte_mbuf** packets, std::uint16_t count, F&& next_headers) const noexcept
    {
        if (unlikely(pool_ == nullptr))
            return 0;
        if (unlikely(shape_.segments > 1)) {
            std::uint16_t made = 0;
            while (made < count && (packets[made] = chain(next_headers())) != nullptr)
                ++made;
            return made;
        }
        count = take(packets, count);
        for (std::uint16_t i = 0; i < count; ++i) {
            set_up(packets[i]);
            std::memcpy(rte_pktmbuf_mtod(packets[i], void*), &next_headers(), sizeof(MadeHeaders));
        }
        return count;
    }
    [[nodiscard]] const MadeHeaders& headers() const noexcept { return headers_; }

  private:
    std::uint16_t take(rte_mbuf** packets, std::uint16_t count) const noexcept;
    rte_mbuf* chain(const MadeHeaders& headers) const noexcept;

    //! Buffers come out of a pool alone and with no reference but one (mbuf_raw_alloc's contract), so that those
    //! fields need no write; flags say whether the buffer is an external one and must keep that.
    void set_up(rte_mbuf* packet) const noexcept
    {
        packet->data_off = data_offset_;
        packet->data_len = shape_.lengths[0];
        packet->pkt_len = length_;
        packet->ol_flags &= RTE_MBUF_F_EXTERNAL;
    }

    MadeHeaders headers_;
    PacketShape shape_;
    std::uint32_t length_;
    std::uint16_t data_offset_ = 0;
    rte_mempool* pool_ = nullptr;
};

} // namespace mrz::testpmd
