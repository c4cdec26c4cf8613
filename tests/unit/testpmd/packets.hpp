// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Packets as bytes, made and summed without DPDK.
#pragma once

#include "support/big_endian.hpp"

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

namespace mrz::test {

using Bytes = std::vector<std::uint8_t>;

inline Bytes operator+(Bytes left, const Bytes& right)
{
    left.insert(left.end(), right.begin(), right.end());
    return left;
}

//! Big-endian words one after the other.
inline Bytes words(std::initializer_list<unsigned> values)
{
    Bytes bytes;
    for (const unsigned value : values) {
        bytes.push_back(static_cast<std::uint8_t>(value >> 8));
        bytes.push_back(static_cast<std::uint8_t>(value));
    }
    return bytes;
}

//! CRC32c, bit by bit.
inline std::uint32_t plain_crc32c(std::span<const std::uint8_t> bytes)
{
    std::uint32_t crc = 0xffffffff;
    for (const std::uint8_t byte : bytes) {
        crc ^= byte;
        for (int bit = 0; bit < 8; ++bit)
            crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82f63b78 : 0);
    }
    return ~crc;
}

inline const Bytes mac_a{0x02, 0xaa, 0, 0, 0, 1};
inline const Bytes mac_b{0x02, 0xbb, 0, 0, 0, 2};
inline const Bytes ip_a{10, 1, 2, 3};
inline const Bytes ip_b{10, 1, 2, 4};
inline const Bytes ip6_a{0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xa};
inline const Bytes ip6_b{0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xb};

inline Bytes ethernet(unsigned type, const Bytes& to = mac_b, const Bytes& from = mac_a)
{
    return to + from + words({type});
}
inline Bytes vlan_tag(unsigned id, unsigned type)
{
    return words({id, type});
}

struct Ipv4 {
    std::uint8_t protocol = 17;
    Bytes options = {}; //!< A multiple of 4.
    unsigned fragment = 0;
    Bytes from = ip_a;
    Bytes to = ip_b;
};
//! With a right header checksum.
inline Bytes ipv4(const Ipv4& header, const Bytes& payload)
{
    const std::size_t length = 20 + header.options.size();
    Bytes bytes =
        words({static_cast<unsigned>(0x4000 | length / 4 << 8), static_cast<unsigned>(length + payload.size()),
               0x1234, header.fragment, 0x4000U | header.protocol, 0}) +
        header.from + header.to + header.options;
    write16(bytes, 10, static_cast<std::uint16_t>(~ones_sum(bytes)));
    return bytes + payload;
}
inline Bytes ipv6(std::uint8_t next, const Bytes& payload)
{
    return words({0x6000, 0, static_cast<unsigned>(payload.size()), static_cast<unsigned>(next << 8 | 64)}) + ip6_a +
           ip6_b + payload;
}

inline Bytes udp(const Bytes& payload, unsigned sum = 0xdead)
{
    return words({1111, 2222, static_cast<unsigned>(8 + payload.size()), sum}) + payload;
}
inline Bytes tcp(const Bytes& payload)
{
    return words({1111, 2222, 1, 2, 3, 4, 0x5010, 100, 0xdead, 0}) + payload;
}
inline Bytes sctp(const Bytes& payload)
{
    return words({1111, 2222, 1, 2, 0xdead, 0xbeef}) + payload;
}
inline Bytes echo_request(const Bytes& payload)
{
    Bytes bytes = words({0x0800, 0, 77, 1}) + payload;
    write16(bytes, 2, static_cast<std::uint16_t>(~ones_sum(bytes)));
    return bytes;
}
inline Bytes arp(unsigned operation, const Bytes& sender, const Bytes& sender_ip, const Bytes& target,
                 const Bytes& target_ip)
{
    return words({1, 0x0800, 0x0604, operation}) + sender + sender_ip + target + target_ip;
}

//! 0, 1, 2, …
inline Bytes counted(std::size_t size)
{
    Bytes bytes(size);
    for (std::size_t i = 0; i < size; ++i)
        bytes[i] = static_cast<std::uint8_t>(i);
    return bytes;
}

} // namespace mrz::test
