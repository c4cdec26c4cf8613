// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Where a received packet's headers are. Whoever sent it may have lied.
#pragma once

#include <rte_branch_prediction.h>
#include <rte_mbuf.h>

#include <cstddef>
#include <cstdint>

namespace mrz::testpmd {

//! A header, if all of it lies in the packet's first segment; else null.
template <class Header>
Header* header_at(rte_mbuf* packet, std::size_t offset) noexcept
{
    return likely(offset + sizeof(Header) <= packet->data_len) ? rte_pktmbuf_mtod_offset(packet, Header*, offset)
                                                               : nullptr;
}

struct Headers {
    //! No protocol's number.
    static constexpr std::uint8_t no_protocol = 255;

    std::uint16_t ether_type = 0; //!< What follows the VLAN tags, in host byte order; 0: they are cut off.
    std::uint16_t l2_length = 0;  //!< The Ethernet header and the VLAN tags.
    std::uint16_t l3_length = 0;  //!< The IP header, with options or extension headers; 0: none that makes sense.
    //! IP's bytes after l3_length, as IP says, and within the packet.
    std::uint16_t payload = 0;
    //! What the payload begins with. None for any fragment but the first, and where IPv6 extension headers do not
    //! tell, or change who the payload's checksum says that it goes to.
    std::uint8_t protocol = no_protocol;
    bool fragment = false;

    [[nodiscard]] std::size_t l4_offset() const noexcept { return std::size_t{l2_length} + l3_length; }
};

//! Looks at the first segment alone.
Headers parse(rte_mbuf* packet) noexcept;

} // namespace mrz::testpmd
