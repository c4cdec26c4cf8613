// SPDX-License-Identifier: BSD-3-Clause
#include "queues/grh.hpp"

#include "layouts/field.hpp"

#include <algorithm>

namespace mrz::queues {
namespace {

// InfiniBand specification, volume 1, chapter 8.3.
namespace grh {
constexpr layouts::Field version{0, 4};
constexpr layouts::Field traffic_class{4, 8};
constexpr layouts::Field flow_label{12, 20};
constexpr layouts::Field payload_length{32, 16};
constexpr layouts::Field next_header{48, 8};
constexpr layouts::Field hop_limit{56, 8};
constexpr layouts::Block source{8, 16};
constexpr layouts::Block destination{24, 16};
} // namespace grh

constexpr std::uint64_t ip_version = 6;
constexpr std::uint64_t base_transport_header = 0x1b; // what follows is a packet of InfiniBand
// What is in a packet behind this header besides data: BTH, DETH, ICRC; and an immediate.
constexpr std::uint64_t transport_bytes = 12 + 8 + 4;
constexpr std::uint64_t immediate_bytes = 4;

} // namespace

hca::Grh make_grh(const PeerAddress& peer, const Gid& source, std::uint64_t bytes, bool immediate)
{
    hca::Grh header{};
    set(header, grh::version, ip_version);
    set(header, grh::traffic_class, peer.traffic_class);
    set(header, grh::flow_label, peer.flow_label);
    set(header, grh::payload_length,
        transport_bytes + (immediate ? immediate_bytes : 0) + (bytes + 3) / 4 * 4); // padded
    set(header, grh::next_header, base_transport_header);
    set(header, grh::hop_limit, peer.hop_limit);
    std::ranges::copy(source, part(std::span<std::byte>{header}, grh::source).begin());
    std::ranges::copy(peer.gid, part(std::span<std::byte>{header}, grh::destination).begin());
    return header;
}

} // namespace mrz::queues
