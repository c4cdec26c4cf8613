// SPDX-License-Identifier: BSD-3-Clause
#include "sums.hpp"

#include <rte_byteorder.h>
#include <rte_ether.h>
#include <rte_hash_crc.h>
#include <rte_ip.h>

#include <netinet/in.h>

#include <algorithm>
#include <cstring>

namespace mrz::testpmd {
namespace {

std::uint32_t crc_over(const std::uint8_t* data, std::size_t size, std::uint32_t crc) noexcept
{
    for (; size >= sizeof(std::uint64_t); size -= sizeof(std::uint64_t), data += sizeof(std::uint64_t)) {
        std::uint64_t word; // rte_hash_crc() itself wants aligned data
        std::memcpy(&word, data, sizeof word);
        crc = rte_hash_crc_8byte(word, crc);
    }
    for (; size > 0; --size, ++data)
        crc = rte_hash_crc_1byte(*data, crc);
    return crc;
}

// DPDK takes protocol and length from an IP header, which is right only where nothing stands between that and the
// transport's header, and that fills the payload. Hence a header that says so, with the packet's addresses.
std::uint16_t pseudo_header(rte_mbuf* packet, const Headers& headers, std::uint16_t length) noexcept
{
    if (headers.ether_type == RTE_ETHER_TYPE_IPV4) {
        rte_ipv4_hdr ip = *header_at<rte_ipv4_hdr>(packet, headers.l2_length);
        ip.version_ihl = RTE_IPV4_VHL_DEF;
        ip.total_length = rte_cpu_to_be_16(static_cast<std::uint16_t>(sizeof ip + length));
        return rte_ipv4_phdr_cksum(&ip, 0);
    }
    rte_ipv6_hdr ip = *header_at<rte_ipv6_hdr>(packet, headers.l2_length);
    ip.proto = headers.protocol;
    ip.payload_len = rte_cpu_to_be_16(length);
    return rte_ipv6_phdr_cksum(&ip, 0);
}

} // namespace

std::uint16_t transport_sum(rte_mbuf* packet, const Headers& headers, std::uint16_t length) noexcept
{
    std::uint16_t bytes = 0;
    rte_raw_cksum_mbuf(packet, static_cast<std::uint32_t>(headers.l4_offset()), length, &bytes);
    const auto sum =
        static_cast<std::uint16_t>(~folded(std::uint32_t{bytes} + pseudo_header(packet, headers, length)));
    return sum == 0 && headers.protocol == IPPROTO_UDP ? std::uint16_t{0xffff} : sum; // 0 would say: no sum
}

std::uint32_t sctp_sum(rte_mbuf* packet, const Headers& headers, std::uint16_t length) noexcept
{
    std::uint32_t crc = UINT32_MAX;
    std::size_t skip = headers.l4_offset();
    std::size_t left = length;
    for (rte_mbuf* segment = packet; segment != nullptr && left > 0; segment = segment->next) {
        const std::size_t skipped = std::min<std::size_t>(skip, segment->data_len);
        const std::size_t here = std::min<std::size_t>(left, segment->data_len - skipped);
        crc = crc_over(rte_pktmbuf_mtod_offset(segment, const std::uint8_t*, skipped), here, crc);
        skip -= skipped;
        left -= here;
    }
    return rte_cpu_to_le_32(~crc);
}

} // namespace mrz::testpmd
