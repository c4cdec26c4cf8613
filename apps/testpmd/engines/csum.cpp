// SPDX-License-Identifier: BSD-3-Clause
#include "../engine_loop.hpp"
#include "all.hpp"
#include "ethernet.hpp"
#include "parse.hpp"
#include "sums.hpp"

#include <rte_ip.h>
#include <rte_sctp.h>
#include <rte_tcp.h>
#include <rte_udp.h>

#include <netinet/in.h>

namespace mrz::testpmd {
namespace {

//! What a packet's checksums are left to the transmit port for.
struct Offload {
    std::uint64_t flags = 0;
    std::uint8_t l4_length = 0;
};

class Csum {
  public:
    static constexpr bool sends = true;

    explicit Csum(Stream& stream) noexcept
        : stream_{&stream}, addresses_{stream.peer, stream.tx_address}, offloads_{stream.tx_offloads & all_offloads}
    {
    }

    std::uint16_t handle(rte_mbuf** packets, std::uint16_t count) const noexcept
    {
        std::uint64_t bad_ip = 0;
        std::uint64_t bad_l4 = 0;
        for_each_packet(packets, count, [&](rte_mbuf* packet) {
            bad_ip += (packet->ol_flags & RTE_MBUF_F_RX_IP_CKSUM_MASK) == RTE_MBUF_F_RX_IP_CKSUM_BAD;
            bad_l4 += (packet->ol_flags & RTE_MBUF_F_RX_L4_CKSUM_MASK) == RTE_MBUF_F_RX_L4_CKSUM_BAD;
            addresses_.write(packet);
            set_sums(packet);
        });
        stream_->bad_ip_sum.add(bad_ip);
        stream_->bad_l4_sum.add(bad_l4);
        return offloads_ == 0 ? count : prepare(packets, count);
    }

  private:
    static constexpr std::uint64_t all_offloads = RTE_ETH_TX_OFFLOAD_IPV4_CKSUM | RTE_ETH_TX_OFFLOAD_UDP_CKSUM |
                                                  RTE_ETH_TX_OFFLOAD_TCP_CKSUM | RTE_ETH_TX_OFFLOAD_SCTP_CKSUM;

    void set_sums(rte_mbuf* packet) const noexcept
    {
        // Flags of the receiver would mean something else to the sender, or ask it for what is done here.
        packet->ol_flags &= RTE_MBUF_F_INDIRECT | RTE_MBUF_F_EXTERNAL;
        const Headers headers = parse(packet);
        if (headers.l3_length == 0)
            return;
        const std::uint64_t offloads = offloads_for(headers);
        Offload offload;
        // The transport first: what is wrong with that is no reason to leave IP's sum wrong.
        if (!headers.fragment)
            offload = set_transport_sum(packet, headers, offloads);
        if (headers.ether_type == RTE_ETHER_TYPE_IPV4)
            offload.flags |= set_ip_sum(packet, headers, offloads);
        if (offload.flags == 0)
            return;
        packet->ol_flags |=
            offload.flags | (headers.ether_type == RTE_ETHER_TYPE_IPV4 ? RTE_MBUF_F_TX_IPV4 : RTE_MBUF_F_TX_IPV6);
        packet->tx_offload = 0;
        packet->l2_len = headers.l2_length & l2_longest;
        packet->l3_len = headers.l3_length & l3_longest;
        packet->l4_len = offload.l4_length;
    }

    // What an mbuf's fields hold.
    static constexpr unsigned l2_longest = (1U << RTE_MBUF_L2_LEN_BITS) - 1;
    static constexpr unsigned l3_longest = (1U << RTE_MBUF_L3_LEN_BITS) - 1;

    std::uint64_t offloads_for(const Headers& headers) const noexcept
    {
        return headers.l2_length <= l2_longest && headers.l3_length <= l3_longest ? offloads_ : 0;
    }

    static std::uint64_t set_ip_sum(rte_mbuf* packet, const Headers& headers, std::uint64_t offloads) noexcept
    {
        auto* ip = header_at<rte_ipv4_hdr>(packet, headers.l2_length);
        ip->hdr_checksum = 0;
        if ((offloads & RTE_ETH_TX_OFFLOAD_IPV4_CKSUM) != 0)
            return RTE_MBUF_F_TX_IP_CKSUM;
        ip->hdr_checksum = rte_ipv4_cksum(ip);
        return 0;
    }

    static Offload set_transport_sum(rte_mbuf* packet, const Headers& headers, std::uint64_t offloads) noexcept
    {
        switch (headers.protocol) {
        case IPPROTO_UDP:
            return set_udp_sum(packet, headers, offloads);
        case IPPROTO_TCP:
            return set_tcp_sum(packet, headers, offloads);
        case IPPROTO_SCTP:
            return set_sctp_sum(packet, headers, offloads);
        default:
            return {};
        }
    }

    //! A sum of 0 says that there is none, and stays.
    static Offload set_udp_sum(rte_mbuf* packet, const Headers& headers, std::uint64_t offloads) noexcept
    {
        auto* udp = header_at<rte_udp_hdr>(packet, headers.l4_offset());
        if (udp == nullptr || udp->dgram_cksum == 0)
            return {};
        const std::uint16_t length = rte_be_to_cpu_16(udp->dgram_len);
        if (length < sizeof *udp || length > headers.payload)
            return {};
        // A device takes the length from IP.
        if ((offloads & RTE_ETH_TX_OFFLOAD_UDP_CKSUM) != 0 && length == headers.payload)
            return {RTE_MBUF_F_TX_UDP_CKSUM, sizeof *udp};
        udp->dgram_cksum = 0;
        udp->dgram_cksum = transport_sum(packet, headers, length);
        return {};
    }

    static Offload set_tcp_sum(rte_mbuf* packet, const Headers& headers, std::uint64_t offloads) noexcept
    {
        auto* tcp = header_at<rte_tcp_hdr>(packet, headers.l4_offset());
        if (tcp == nullptr)
            return {};
        const auto length = static_cast<std::uint8_t>((tcp->data_off >> 4) * 4);
        if (length < sizeof *tcp || length > headers.payload)
            return {};
        if ((offloads & RTE_ETH_TX_OFFLOAD_TCP_CKSUM) != 0)
            return {RTE_MBUF_F_TX_TCP_CKSUM, length};
        tcp->cksum = 0;
        tcp->cksum = transport_sum(packet, headers, headers.payload);
        return {};
    }

    static Offload set_sctp_sum(rte_mbuf* packet, const Headers& headers, std::uint64_t offloads) noexcept
    {
        auto* sctp = header_at<rte_sctp_hdr>(packet, headers.l4_offset());
        if (sctp == nullptr || headers.payload < sizeof *sctp)
            return {};
        sctp->cksum = 0;
        if ((offloads & RTE_ETH_TX_OFFLOAD_SCTP_CKSUM) != 0)
            return {RTE_MBUF_F_TX_SCTP_CKSUM, sizeof *sctp};
        sctp->cksum = sctp_sum(packet, headers, headers.payload);
        return {};
    }

    //! Drivers put the pseudo-header's sum, which some devices want, where the checksum will be.
    std::uint16_t prepare(rte_mbuf** packets, std::uint16_t count) const noexcept
    {
        const std::uint16_t ready = rte_eth_tx_prepare(stream_->tx_port, stream_->tx_queue, packets, count);
        if (unlikely(ready < count)) {
            stream_->dropped.add(static_cast<std::uint64_t>(count - ready));
            free_packets(packets + ready, static_cast<std::uint16_t>(count - ready));
        }
        return ready;
    }

    Stream* stream_;
    Addresses addresses_;
    std::uint64_t offloads_;
};

} // namespace

const Engine csum =
    make_engine<Csum>("csum", "sends packets on to the peer, with IP, UDP, TCP and SCTP checksums computed anew");

} // namespace mrz::testpmd
