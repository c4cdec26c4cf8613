// SPDX-License-Identifier: BSD-3-Clause
#include "queues/roce_header.hpp"

#include "layouts/field.hpp"
#include "queues/grh.hpp"

#include <algorithm>
#include <span>

namespace mrz::queues {
namespace {

using layouts::part;

// IPv6 (RFC 8200), which a global routing header is like.
namespace v6 {
constexpr layouts::Field payload_length{32, 16};
constexpr layouts::Field next_header{48, 8};
} // namespace v6

// RFC 791, behind 20 bytes that say nothing.
namespace v4 {
constexpr std::size_t begin = 20;
constexpr std::size_t bytes = 20;
constexpr layouts::Field version{0, 4};
constexpr layouts::Field words{4, 4};
constexpr layouts::Field service{8, 8};
constexpr layouts::Field total_length{16, 16};
constexpr layouts::Field dont_fragment{49, 1};
constexpr layouts::Field time_to_live{64, 8};
constexpr layouts::Field protocol{72, 8};
constexpr layouts::Field checksum{80, 16};
constexpr layouts::Block source{12, 4};
constexpr layouts::Block destination{16, 4};
} // namespace v4

constexpr std::uint64_t udp = 17;
constexpr std::uint64_t udp_bytes = 8;

void add_checksum(std::span<std::byte> header)
{
    std::uint64_t sum = 0;
    for (std::uint16_t bit = 0; bit < v4::bytes * 8; bit = static_cast<std::uint16_t>(bit + 16))
        sum += layouts::get(header, {bit, 16});
    while (sum > 0xffff)
        sum = (sum & 0xffff) + (sum >> 16);
    set(header, v4::checksum, ~sum);
}

} // namespace

RoceHeaderKind kind_of(const firmware::RoceAddress& source) noexcept
{
    if (source.version == firmware::RoceAddress::Version::v1)
        return RoceHeaderKind::grh;
    return source.ipv4 ? RoceHeaderKind::ipv4 : RoceHeaderKind::ipv6;
}

// The VLAN, whether there is one, and the header.
std::uint16_t in_place_of_lid(const firmware::RoceAddress& source) noexcept
{
    const unsigned vlan = source.vlan ? (*source.vlan & 0xfffU) << 4 | 1U << 3 : 0;
    return static_cast<std::uint16_t>(vlan | static_cast<unsigned>(kind_of(source)));
}

RoceSender roce_sender_of(std::uint16_t in_place_of_lid) noexcept
{
    RoceSender sender;
    sender.header = static_cast<RoceHeaderKind>(in_place_of_lid & 3U);
    if ((in_place_of_lid & 1U << 3) != 0)
        sender.vlan = static_cast<std::uint16_t>(in_place_of_lid >> 4);
    return sender;
}

hca::Grh make_roce_header(const PeerAddress& peer, const firmware::RoceAddress& source, std::uint64_t bytes,
                          bool immediate)
{
    hca::Grh header = make_grh(peer, source.gid, bytes, immediate);
    if (kind_of(source) == RoceHeaderKind::grh)
        return header;
    const std::uint64_t behind = layouts::get(header, v6::payload_length) + udp_bytes;
    if (kind_of(source) == RoceHeaderKind::ipv6) {
        set(header, v6::payload_length, behind);
        set(header, v6::next_header, udp);
        return header;
    }
    header = {};
    const auto own = std::span{header}.subspan(v4::begin, v4::bytes);
    set(own, v4::version, 4);
    set(own, v4::words, v4::bytes / 4);
    set(own, v4::service, peer.traffic_class);
    set(own, v4::total_length, v4::bytes + behind);
    set(own, v4::dont_fragment, 1);
    set(own, v4::time_to_live, peer.hop_limit);
    set(own, v4::protocol, udp);
    // The last bytes of a mapped address.
    std::ranges::copy(std::span{source.gid}.last(4), part(own, v4::source).begin());
    std::ranges::copy(std::span{peer.gid}.last(4), part(own, v4::destination).begin());
    add_checksum(own);
    return header;
}

} // namespace mrz::queues
