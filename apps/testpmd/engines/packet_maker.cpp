// SPDX-License-Identifier: BSD-3-Clause
#include "packet_maker.hpp"

#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <span>

namespace mrz::testpmd {
namespace {

MadeHeaders make_headers(const Flow& flow, std::uint32_t length) noexcept
{
    constexpr std::uint8_t time_to_live = 64;
    const auto after_ethernet = static_cast<std::uint16_t>(length - sizeof(rte_ether_hdr));
    MadeHeaders headers{};
    headers.ethernet.dst_addr = flow.destination;
    headers.ethernet.src_addr = flow.source;
    headers.ethernet.ether_type = RTE_BE16(RTE_ETHER_TYPE_IPV4);
    headers.ip.version_ihl = RTE_IPV4_VHL_DEF;
    headers.ip.total_length = rte_cpu_to_be_16(after_ethernet);
    headers.ip.time_to_live = time_to_live;
    headers.ip.next_proto_id = IPPROTO_UDP;
    headers.ip.src_addr = rte_cpu_to_be_32(flow.source_ip);
    headers.ip.dst_addr = rte_cpu_to_be_32(flow.destination_ip);
    headers.ip.hdr_checksum = rte_ipv4_cksum(&headers.ip);
    headers.udp.src_port = rte_cpu_to_be_16(flow.source_port);
    headers.udp.dst_port = rte_cpu_to_be_16(flow.destination_port);
    headers.udp.dgram_len = rte_cpu_to_be_16(static_cast<std::uint16_t>(after_ethernet - sizeof(rte_ipv4_hdr)));
    return headers;
}

bool fits(const PacketShape& shape, std::uint32_t length, std::size_t room) noexcept
{
    const auto segments = std::span{shape.lengths}.first(shape.segments);
    return !segments.empty() && length >= shortest_made && length <= longest_made &&
           *std::ranges::max_element(segments) <= room;
}

} // namespace

PacketMaker::PacketMaker(const Flow& flow, const PacketShape& shape, rte_mempool* pool) noexcept
    : headers_{make_headers(flow, shape.length())}, shape_{shape}, length_{shape.length()}
{
    if (pool == nullptr)
        return;
    // A pool's buffers are at least that large, external ones too.
    const std::uint16_t buffer = rte_pktmbuf_data_room_size(pool);
    data_offset_ = std::min<std::uint16_t>(RTE_PKTMBUF_HEADROOM, buffer);
    if (fits(shape, length_, static_cast<std::size_t>(buffer - data_offset_)))
        pool_ = pool;
}

std::uint16_t PacketMaker::take(rte_mbuf** packets, std::uint16_t count) const noexcept
{
    if (likely(rte_mempool_get_bulk(pool_, reinterpret_cast<void**>(packets), count) == 0))
        return count;
    std::uint16_t taken = 0;
    while (taken < count && (packets[taken] = rte_mbuf_raw_alloc(pool_)) != nullptr)
        ++taken;
    return taken;
}

rte_mbuf* PacketMaker::chain(const MadeHeaders& headers) const noexcept
{
    std::array<rte_mbuf*, max_segments> segments;
    if (rte_mempool_get_bulk(pool_, reinterpret_cast<void**>(segments.data()), shape_.segments) != 0)
        return nullptr;
    const auto* header = reinterpret_cast<const std::uint8_t*>(&headers);
    std::size_t left = sizeof headers;
    for (std::size_t i = 0; i < shape_.segments; ++i) {
        rte_mbuf* segment = segments[i];
        set_up(segment);
        segment->data_len = shape_.lengths[i];
        segment->next = i + 1 < shape_.segments ? segments[i + 1] : nullptr;
        const std::size_t here = std::min<std::size_t>(left, segment->data_len);
        std::memcpy(rte_pktmbuf_mtod(segment, void*), header, here);
        header += here;
        left -= here;
    }
    segments[0]->nb_segs = shape_.segments;
    return segments[0];
}

} // namespace mrz::testpmd
