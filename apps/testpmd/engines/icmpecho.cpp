// SPDX-License-Identifier: BSD-3-Clause
#include "../engine_loop.hpp"
#include "all.hpp"
#include "ethernet.hpp"
#include "parse.hpp"
#include "sums.hpp"

#include <rte_arp.h>
#include <rte_icmp.h>
#include <rte_ip.h>

#include <netinet/in.h>

namespace mrz::testpmd {
namespace {

class Icmpecho {
  public:
    static constexpr bool sends = true;
    static constexpr bool answers = true;

    explicit Icmpecho(Stream& stream) noexcept : own_{stream.tx_address} {}

    std::uint16_t handle(rte_mbuf** packets, std::uint16_t count) const noexcept
    {
        rte_mbuf* others[max_burst];
        std::uint16_t dropped = 0;
        std::uint16_t replies = 0;
        for_each_packet(packets, count, [&](rte_mbuf* packet) {
            if (answer(packet))
                packets[replies++] = packet;
            else
                others[dropped++] = packet;
        });
        free_packets(others, dropped);
        return replies;
    }

  private:
    //! Makes the packet the reply to itself, if it is a request.
    bool answer(rte_mbuf* packet) const noexcept
    {
        const Headers headers = parse(packet);
        if (headers.ether_type == RTE_ETHER_TYPE_ARP)
            return answer_arp(packet, headers);
        if (headers.ether_type == RTE_ETHER_TYPE_IPV4 && headers.protocol == IPPROTO_ICMP && !headers.fragment)
            return answer_echo(packet, headers);
        return false;
    }

    //! Whatever address it asks for, as testpmd does.
    bool answer_arp(rte_mbuf* packet, const Headers& headers) const noexcept
    {
        auto* arp = header_at<rte_arp_hdr>(packet, headers.l2_length);
        if (arp == nullptr || arp->arp_hardware != RTE_BE16(RTE_ARP_HRD_ETHER) ||
            arp->arp_protocol != RTE_BE16(RTE_ETHER_TYPE_IPV4) || arp->arp_hlen != RTE_ETHER_ADDR_LEN ||
            arp->arp_plen != sizeof(rte_be32_t) || arp->arp_opcode != RTE_BE16(RTE_ARP_OP_REQUEST))
            return false;
        reply_to_sender(packet, own_);
        arp->arp_opcode = RTE_BE16(RTE_ARP_OP_REPLY);
        rte_arp_ipv4& data = arp->arp_data;
        data.arp_tha = data.arp_sha;
        data.arp_sha = own_;
        const rte_be32_t asked = data.arp_tip;
        data.arp_tip = data.arp_sip;
        data.arp_sip = asked;
        return true;
    }

    bool answer_echo(rte_mbuf* packet, const Headers& headers) const noexcept
    {
        auto* icmp = header_at<rte_icmp_hdr>(packet, headers.l4_offset());
        if (icmp == nullptr || headers.payload < sizeof *icmp || icmp->icmp_type != RTE_IP_ICMP_ECHO_REQUEST ||
            icmp->icmp_code != 0)
            return false;
        const auto* ethernet = header_at<rte_ether_hdr>(packet, 0);
        reply_to_sender(packet, rte_is_multicast_ether_addr(&ethernet->dst_addr) ? own_ : ethernet->dst_addr);
        auto& ip = *header_at<rte_ipv4_hdr>(packet, headers.l2_length);
        const rte_be32_t requester = ip.src_addr;
        const std::uint32_t asked = rte_be_to_cpu_32(ip.dst_addr);
        if (RTE_IS_IPV4_MCAST(asked) || asked == INADDR_BROADCAST) {
            ip.src_addr = neighbour_of(requester);
            ip.dst_addr = requester;
            ip.hdr_checksum = 0;
            ip.hdr_checksum = rte_ipv4_cksum(&ip);
        } else { // which leaves the sum as it was
            ip.src_addr = ip.dst_addr;
            ip.dst_addr = requester;
        }
        icmp->icmp_type = RTE_IP_ICMP_ECHO_REPLY;
        icmp->icmp_cksum = sum_after(icmp->icmp_cksum, RTE_BE16(RTE_IP_ICMP_ECHO_REQUEST << 8),
                                     RTE_BE16(RTE_IP_ICMP_ECHO_REPLY << 8));
        return true;
    }

    static void reply_to_sender(rte_mbuf* packet, const rte_ether_addr& from) noexcept
    {
        Addresses{header_at<rte_ether_hdr>(packet, 0)->src_addr, from}.write(packet);
    }

    //! A group cannot answer. testpmd takes an address beside the requester's: one that ends in binary 01, or 10 if
    //! that is the requester.
    static rte_be32_t neighbour_of(rte_be32_t requester) noexcept
    {
        const std::uint32_t address = rte_be_to_cpu_32(requester);
        return rte_cpu_to_be_32((address & ~3U) | ((address & 3) == 1 ? 2 : 1));
    }

    //! RFC 1624, equation 3.
    static rte_be16_t sum_after(rte_be16_t sum, rte_be16_t was, rte_be16_t is) noexcept
    {
        constexpr std::uint32_t ones = 0xffff;
        return static_cast<rte_be16_t>(~folded((~sum & ones) + (~was & ones) + is));
    }

    rte_ether_addr own_;
};

} // namespace

const Engine icmpecho =
    make_engine<Icmpecho>("icmpecho", "answers ARP requests and pings, on the port they came from; drops the others");

} // namespace mrz::testpmd
