// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! The global routing header in front of a datagram.
#pragma once

#include "queues/peer_address.hpp"

#include <hca/work.hpp>

#include <cstdint>

namespace mrz::queues {

//! The header of a datagram of \p bytes from \p source to a peer with a gid.
[[nodiscard]] hca::Grh make_grh(const PeerAddress& peer, const Gid& source, std::uint64_t bytes, bool immediate);

} // namespace mrz::queues
