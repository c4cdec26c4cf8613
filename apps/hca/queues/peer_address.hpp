// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Where a peer is, as an address vector says it.
#pragma once

#include "firmware/roce_addresses.hpp"

#include <hca/link.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

namespace mrz::queues {

using firmware::Gid;
using firmware::Mac;

struct PeerAddress {
    std::uint16_t lid = 0;
    bool global = false; //!< There is a gid, and what else a global routing header says.
    Gid gid{};
    std::uint8_t traffic_class = 0;
    std::uint8_t hop_limit = 0;
    std::uint32_t flow_label = 0;
    // Over Ethernet:
    Mac mac{};
    std::uint8_t source = 0; //!< Which of the port's own addresses it is sent from.
    friend bool operator==(const PeerAddress&, const PeerAddress&) = default;
};

//! The way to a peer.
struct Route {
    bool reachable = false;
    std::shared_ptr<hca::Link> link; //!< None: it is in this device.
    //! Ethernet: what it is sent from.
    std::optional<firmware::RoceAddress> source = {};
};
//! Called with locks held; quick, and it does not call the engine.
using Router = std::function<Route(const PeerAddress&)>;

} // namespace mrz::queues
