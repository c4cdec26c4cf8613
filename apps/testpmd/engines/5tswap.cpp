// SPDX-License-Identifier: BSD-3-Clause
#include "../engine_loop.hpp"
#include "all.hpp"
#include "ethernet.hpp"
#include "parse.hpp"

#include <rte_ip.h>

#include <netinet/in.h>

#include <algorithm>

namespace mrz::testpmd {
namespace {

//! Two fields of \p size bytes that lie side by side, as sources and destinations do.
void swap_fields(void* first, std::size_t size) noexcept
{
    auto* bytes = static_cast<std::uint8_t*>(first);
    std::swap_ranges(bytes, bytes + size, bytes + size);
}

//! Goes up layer by layer, as far as the packet makes sense. Checksums stay right, being sums.
void swap_all(rte_mbuf* packet) noexcept
{
    struct Ports {
        rte_be16_t source;
        rte_be16_t destination;
    };
    swap_addresses(packet);
    const Headers headers = parse(packet);
    if (headers.l3_length == 0)
        return;
    if (headers.ether_type == RTE_ETHER_TYPE_IPV4)
        swap_fields(&header_at<rte_ipv4_hdr>(packet, headers.l2_length)->src_addr, sizeof(rte_be32_t));
    else
        swap_fields(header_at<rte_ipv6_hdr>(packet, headers.l2_length)->src_addr, sizeof(rte_ipv6_hdr::src_addr));
    if (headers.protocol != IPPROTO_TCP && headers.protocol != IPPROTO_UDP)
        return;
    auto* ports = header_at<Ports>(packet, headers.l4_offset());
    if (ports != nullptr && headers.payload >= sizeof *ports)
        swap_fields(ports, sizeof ports->source);
}

class FiveTupleSwap {
  public:
    static constexpr bool sends = true;

    explicit FiveTupleSwap(Stream&) noexcept {}

    std::uint16_t handle(rte_mbuf** packets, std::uint16_t count) const noexcept
    {
        for_each_packet(packets, count, swap_all);
        return count;
    }
};

} // namespace

const Engine five_tuple_swap = make_engine<FiveTupleSwap>(
    "5tswap", "sends packets on with MAC addresses, IP addresses, and TCP or UDP ports swapped");

} // namespace mrz::testpmd
