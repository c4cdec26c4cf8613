// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Checksums of what IP carries.
#pragma once

#include "parse.hpp"

#include <cstdint>

namespace mrz::testpmd {

//! A sum of 16-bit words as one word, in ones' complement.
constexpr std::uint16_t folded(std::uint64_t sum) noexcept
{
    while (sum > 0xffff)
        sum = (sum & 0xffff) + (sum >> 16);
    return static_cast<std::uint16_t>(sum);
}

//! TCP's or UDP's checksum over \p length bytes from the layer's beginning, and the pseudo-header, as it is to be
//! written. The header's own sum must be 0 while this runs. The bytes must be there, in whatever segments.
std::uint16_t transport_sum(rte_mbuf* packet, const Headers& headers, std::uint16_t length) noexcept;

//! SCTP's checksum (CRC32c, RFC 9260), likewise.
std::uint32_t sctp_sum(rte_mbuf* packet, const Headers& headers, std::uint16_t length) noexcept;

} // namespace mrz::testpmd
