// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! What a datagram over Ethernet brings in the first 40 bytes of its receive.
#pragma once

#include "firmware/roce_addresses.hpp"
#include "queues/peer_address.hpp"

#include <hca/work.hpp>

#include <cstdint>
#include <optional>

namespace mrz::queues {

//! What a completion says of it: MLX5_CQE_ROCE_L3_HEADER_TYPE_… of Linux's include/linux/mlx5/device.h.
enum class RoceHeaderKind : std::uint8_t { grh = 0, ipv6 = 1, ipv4 = 2 };
[[nodiscard]] RoceHeaderKind kind_of(const firmware::RoceAddress& source) noexcept;

//! What a completion says of where a datagram came from. Over Ethernet nobody has a LID, so that is where it is on
//! the way.
struct RoceSender {
    RoceHeaderKind header = RoceHeaderKind::grh;
    std::optional<std::uint16_t> vlan = {}; //!< 12 bits.
    friend bool operator==(const RoceSender&, const RoceSender&) = default;
};
[[nodiscard]] std::uint16_t in_place_of_lid(const firmware::RoceAddress& source) noexcept;
[[nodiscard]] RoceSender roce_sender_of(std::uint16_t in_place_of_lid) noexcept;

//! The header of a datagram of \p bytes: version 1 a global routing header, version 2 one of IPv6, or one of IPv4,
//! which is in the last 20 bytes.
[[nodiscard]] hca::Grh make_roce_header(const PeerAddress& peer, const firmware::RoceAddress& source,
                                        std::uint64_t bytes, bool immediate);

} // namespace mrz::queues
