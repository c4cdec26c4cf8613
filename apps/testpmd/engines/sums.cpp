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

//! Calls \p each with the bytes that lie in each segment. (rte_raw_cksum_mbuf() of 22.11 cuts a segment's sum to 16
//! bits before it folds it, where an odd number of bytes is before it.)
template <class F>
void for_each_piece(const rte_mbuf* packet, std::size_t offset, std::size_t length, F each)
{
    for (const rte_mbuf* segment = packet; segment != nullptr && length > 0; segment = segment->next) {
        const std::size_t skipped = std::min<std::size_t>(offset, segment->data_len);
        const std::size_t here = std::min<std::size_t>(length, segment->data_len - skipped);
        if (here > 0)
            each(rte_pktmbuf_mtod_offset(segment, const std::uint8_t*, skipped), here);
        offset -= skipped;
        length -= here;
    }
}

} // namespace

std::uint16_t transport_sum(rte_mbuf* packet, const Headers& headers, std::uint16_t length) noexcept
{
    std::uint64_t total = pseudo_header(packet, headers, length);
    std::size_t done = 0;
    for_each_piece(packet, headers.l4_offset(), length, [&](const std::uint8_t* data, std::size_t size) {
        const std::uint16_t sum = rte_raw_cksum(data, size);
        total += done % 2 == 0 ? sum : rte_bswap16(sum); // RFC 1071, section 2 (B)
        done += size;
    });
    const auto sum = static_cast<std::uint16_t>(~folded(total));
    return sum == 0 && headers.protocol == IPPROTO_UDP ? std::uint16_t{0xffff} : sum; // 0 would say: no sum
}

std::uint32_t sctp_sum(rte_mbuf* packet, const Headers& headers, std::uint16_t length) noexcept
{
    std::uint32_t crc = UINT32_MAX;
    for_each_piece(packet, headers.l4_offset(), length,
                   [&](const std::uint8_t* data, std::size_t size) { crc = crc_over(data, size, crc); });
    return rte_cpu_to_le_32(~crc);
}

} // namespace mrz::testpmd
