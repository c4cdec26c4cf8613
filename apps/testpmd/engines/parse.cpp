// SPDX-License-Identifier: BSD-3-Clause
#include "parse.hpp"

#include <rte_ether.h>
#include <rte_ip.h>

#include <netinet/in.h>

namespace mrz::testpmd {
namespace {

//! A header that says how much follows its beginning, and what follows it.
struct Extension {
    std::uint8_t next;
    std::uint8_t more; // units of 8 bytes, not counting the first
};
struct RoutingExtension {
    Extension extension;
    std::uint8_t type;
    std::uint8_t segments_left;
};

void parse_ethernet(rte_mbuf* packet, Headers& headers) noexcept
{
    const auto* ethernet = header_at<rte_ether_hdr>(packet, 0);
    if (ethernet == nullptr)
        return;
    headers.l2_length = sizeof *ethernet;
    rte_be16_t type = ethernet->ether_type;
    while (type == RTE_BE16(RTE_ETHER_TYPE_VLAN) || type == RTE_BE16(RTE_ETHER_TYPE_QINQ)) {
        const auto* tag = header_at<rte_vlan_hdr>(packet, headers.l2_length);
        if (tag == nullptr)
            return;
        headers.l2_length = static_cast<std::uint16_t>(headers.l2_length + sizeof *tag);
        type = tag->eth_proto;
    }
    headers.ether_type = rte_be_to_cpu_16(type);
}

void parse_ipv4(rte_mbuf* packet, Headers& headers) noexcept
{
    const auto* ip = header_at<rte_ipv4_hdr>(packet, headers.l2_length);
    if (ip == nullptr || ip->version != IPVERSION)
        return;
    const auto length = static_cast<std::uint16_t>(rte_ipv4_hdr_len(ip));
    const std::uint16_t total = rte_be_to_cpu_16(ip->total_length);
    if (length < sizeof *ip || std::size_t{headers.l2_length} + length > packet->data_len || total < length ||
        std::size_t{headers.l2_length} + total > packet->pkt_len)
        return;
    headers.l3_length = length;
    headers.payload = static_cast<std::uint16_t>(total - length);
    const std::uint16_t fragment = rte_be_to_cpu_16(ip->fragment_offset);
    headers.fragment = (fragment & (RTE_IPV4_HDR_MF_FLAG | RTE_IPV4_HDR_OFFSET_MASK)) != 0;
    if ((fragment & RTE_IPV4_HDR_OFFSET_MASK) == 0)
        headers.protocol = ip->next_proto_id;
}

void parse_ipv6(rte_mbuf* packet, Headers& headers) noexcept
{
    const auto* ip = header_at<rte_ipv6_hdr>(packet, headers.l2_length);
    if (ip == nullptr || (rte_be_to_cpu_32(ip->vtc_flow) >> 28) != 6)
        return;
    const std::size_t first = headers.l2_length + sizeof *ip;
    const std::size_t after = first + rte_be_to_cpu_16(ip->payload_len);
    if (after > packet->pkt_len)
        return;
    headers.l3_length = sizeof *ip;
    headers.payload = static_cast<std::uint16_t>(after - first);

    // rte_net_skip_ip6_ext() tells neither a first fragment from a later one, nor where a packet is routed to.
    std::size_t offset = first;
    std::uint8_t protocol = ip->proto;
    bool told = true;
    for (bool extended = true; extended;) {
        std::size_t length = 0;
        switch (protocol) {
        case IPPROTO_ROUTING: {
            const auto* routing = header_at<RoutingExtension>(packet, offset);
            if (routing == nullptr)
                return;
            told = told && routing->segments_left == 0;
        }
            [[fallthrough]];
        case IPPROTO_HOPOPTS:
        case IPPROTO_DSTOPTS: {
            const auto* extension = header_at<Extension>(packet, offset);
            if (extension == nullptr)
                return;
            length = (extension->more + std::size_t{1}) * 8;
            protocol = extension->next;
            break;
        }
        case IPPROTO_FRAGMENT: {
            const auto* extension = header_at<rte_ipv6_fragment_ext>(packet, offset);
            if (extension == nullptr)
                return;
            const std::uint16_t data = rte_be_to_cpu_16(extension->frag_data);
            headers.fragment = headers.fragment || (data & RTE_IPV6_FRAG_USED_MASK) != 0;
            told = told && (data & RTE_IPV6_EHDR_FO_MASK) == 0;
            length = sizeof *extension;
            protocol = extension->next_header;
            extended = told; // a later fragment's next header is not here
            break;
        }
        default:
            extended = false;
        }
        offset += length;
        if (offset > after || offset > packet->data_len)
            return;
    }
    headers.l3_length = static_cast<std::uint16_t>(offset - headers.l2_length);
    headers.payload = static_cast<std::uint16_t>(after - offset);
    if (told)
        headers.protocol = protocol;
}

} // namespace

Headers parse(rte_mbuf* packet) noexcept
{
    Headers headers;
    parse_ethernet(packet, headers);
    if (headers.ether_type == RTE_ETHER_TYPE_IPV4)
        parse_ipv4(packet, headers);
    else if (headers.ether_type == RTE_ETHER_TYPE_IPV6)
        parse_ipv6(packet, headers);
    return headers;
}

} // namespace mrz::testpmd
