// SPDX-License-Identifier: BSD-3-Clause
#include "queues/roce_header.hpp"

#include "layouts/field.hpp"

#include <algorithm>
#include <span>

namespace mrz::queues {
namespace {

using layouts::part;

// A global routing header (InfiniBand specification, volume 1, chapter 8.3) and one of IPv6 (RFC 8200) are alike.
namespace v6 {
constexpr layouts::Field version{0, 4};
constexpr layouts::Field traffic_class{4, 8};
constexpr layouts::Field flow_label{12, 20};
constexpr layouts::Field payload_length{32, 16};
constexpr layouts::Field next_header{48, 8};
constexpr layouts::Field hop_limit{56, 8};
constexpr layouts::Block source{8, 16};
constexpr layouts::Block destination{24, 16};
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

constexpr std::uint64_t base_transport_header = 0x1b; // what follows is a packet of InfiniBand
constexpr std::uint64_t udp = 17;
// What is in a packet behind this header besides data: BTH, DETH, ICRC; an immediate; version 2: a UDP header.
constexpr std::uint64_t transport_bytes = 12 + 8 + 4;
constexpr std::uint64_t immediate_bytes = 4;
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

hca::Grh make_roce_header(const PeerAddress& peer, const firmware::RoceAddress& source, std::uint64_t bytes,
                          bool immediate)
{
    hca::Grh header{};
    const RoceHeaderKind kind = kind_of(source);
    const std::uint64_t behind = transport_bytes + (immediate ? immediate_bytes : 0) + (bytes + 3) / 4 * 4 + // padded
                                 (kind == RoceHeaderKind::grh ? 0 : udp_bytes);
    if (kind == RoceHeaderKind::ipv4) {
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
    const std::span<std::byte> own{header};
    set(own, v6::version, 6);
    set(own, v6::traffic_class, peer.traffic_class);
    set(own, v6::flow_label, peer.flow_label);
    set(own, v6::payload_length, behind);
    set(own, v6::next_header, kind == RoceHeaderKind::grh ? base_transport_header : udp);
    set(own, v6::hop_limit, peer.hop_limit);
    std::ranges::copy(source.gid, part(own, v6::source).begin());
    std::ranges::copy(peer.gid, part(own, v6::destination).begin());
    return header;
}

} // namespace mrz::queues
