// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Ethernet frames for tests, written and read by the standards' words and by nothing that is under test.
#pragma once

#include "support/big_endian.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace mrz::test {

using Frame = std::vector<std::uint8_t>;
using Bytes = std::span<const std::uint8_t>;
using MacAddress = std::array<std::uint8_t, 6>;

inline constexpr std::size_t ethernet_header = 14;

inline Frame ethernet(const MacAddress& destination, const MacAddress& source, std::uint16_t type)
{
    Frame frame;
    frame.insert(frame.end(), destination.begin(), destination.end());
    frame.insert(frame.end(), source.begin(), source.end());
    frame.push_back(static_cast<std::uint8_t>(type >> 8));
    frame.push_back(static_cast<std::uint8_t>(type));
    return frame;
}

inline constexpr MacAddress one_address{0x02, 0, 0, 0, 0, 0x01};
inline constexpr MacAddress other_address{0x02, 0, 0, 0, 0, 0x02};

//! \p size bytes of a type that nobody listens to, filled from \p seed.
inline Frame random_frame(std::size_t size, std::uint32_t seed)
{
    Frame frame = ethernet(one_address, other_address, 0x88b5); // IEEE 802: for local experiments
    std::mt19937 random{seed};
    while (frame.size() < size)
        frame.push_back(static_cast<std::uint8_t>(random()));
    return frame;
}

//! What a frame of IP holds.
enum class Protocol : std::uint8_t {
    icmp = 1,
    tcp = 6,
    udp = 17,
};

inline constexpr std::size_t ip_checksum_at = ethernet_header + 10;
//! Where the transport's header begins in a datagram() frame.
inline std::size_t transport_at(bool six)
{
    return ethernet_header + (six ? 40 : 20);
}
//! Where the checksum lies within the transport's header.
inline std::size_t checksum_at(Protocol protocol)
{
    switch (protocol) {
    case Protocol::icmp:
        return 2;
    case Protocol::tcp:
        return 16;
    case Protocol::udp:
        return 6;
    }
    return 0;
}

//! A datagram from 198.18.0.1 to 198.18.0.2, or of IPv6 from 2001:2::1 to 2001:2::2, with all checksums zero.
inline Frame datagram(bool six, Protocol protocol, std::size_t payload, std::uint32_t seed)
{
    const std::size_t header = protocol == Protocol::tcp ? 20 : 8;
    Frame frame = ethernet(one_address, other_address, six ? 0x86dd : 0x0800);
    const std::size_t ip = frame.size();
    if (six) {
        frame.insert(frame.end(), {0x60, 0, 0, 0, 0, 0, static_cast<std::uint8_t>(protocol), 64});
        for (const std::uint8_t last : {std::uint8_t{1}, std::uint8_t{2}})
            frame.insert(frame.end(), {0x20, 0x01, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last});
        write16(frame, ip + 4, header + payload);
    } else {
        frame.insert(frame.end(), {0x45, 0, 0,   0,  0x12, 0x34, 0,   0,  64, static_cast<std::uint8_t>(protocol),
                                   0,    0, 198, 18, 0,    1,    198, 18, 0,  2});
        write16(frame, ip + 2, 20 + header + payload);
    }
    const std::size_t transport = frame.size();
    frame.resize(transport + header);
    write16(frame, transport, 1000);
    write16(frame, transport + 2, 2000);
    if (protocol == Protocol::udp)
        write16(frame, transport + 4, header + payload);
    else
        frame[transport + 12] = 0x50; // a TCP header of five words
    std::mt19937 random{seed};
    for (std::size_t i = 0; i < payload; ++i)
        frame.push_back(static_cast<std::uint8_t>(random()));
    return frame;
}

//! The sum over the pseudo header of RFC 793, 768 and 8200.
inline std::uint32_t pseudo_header(Bytes addresses, Protocol protocol, std::size_t length)
{
    return ones_sum(addresses) + static_cast<std::uint32_t>(protocol) + static_cast<std::uint32_t>(length);
}

//! What is wrong with the checksums of a frame of IP; empty if nothing is.
inline std::string wrong_checksums(Bytes frame)
{
    const bool six = read16(frame, 12) == 0x86dd;
    const Bytes packet = frame.subspan(ethernet_header);
    const std::size_t header = six ? 40 : static_cast<std::size_t>(packet[0] & 15) * 4;
    const std::size_t length = six ? 40U + read16(packet, 4) : read16(packet, 2);
    const auto protocol = static_cast<Protocol>(packet[six ? 6 : 9]);
    const Bytes transport = packet.subspan(header, length - header);
    std::string wrong;
    if (!six && ones_sum(packet.first(header)) != 0xffff)
        wrong += "the IPv4 header's checksum; ";
    std::uint32_t sum = 0;
    if (protocol != Protocol::icmp) {
        const Bytes addresses = six ? packet.subspan(8, 32) : packet.subspan(12, 8);
        sum = pseudo_header(addresses, protocol, transport.size());
    }
    if (ones_sum(transport, sum) != 0xffff)
        wrong += "the transport's checksum; ";
    if (protocol == Protocol::udp && read16(transport, checksum_at(protocol)) == 0)
        wrong += "no UDP checksum; ";
    return wrong;
}

} // namespace mrz::test
