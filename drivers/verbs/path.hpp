// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! How a port of a device is reached, and what a queue pair tells of itself so that another can reach it.
#pragma once

#include "context.hpp"

#include <mrzone/device.hpp>

#include <infiniband/verbs.h>

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace mrz::verbs {

//! What a queue pair's endpoint says. For a peer on the same kind of host; not for a network with other byte orders.
struct Place {
    std::array<char, 4> kind = {'v', 'r', 'b', 's'};
    std::uint32_t number = 0; //!< Of the queue pair.
    std::uint32_t psn = 0;    //!< That it begins to send with.
    std::uint16_t lid = 0;
    std::uint8_t mtu = 0;      //!< enum ibv_mtu.
    std::uint8_t ethernet = 0; //!< 1: RoCE, reached by its gid; 0: InfiniBand, by its lid.
    std::array<std::uint8_t, 16> gid = {};

    [[nodiscard]] Endpoint pack() const;
    //! Nothing for what is none.
    [[nodiscard]] static std::optional<Place> unpack(const Endpoint& endpoint);
};

//! A port, and how it is reached.
struct Port {
    std::uint8_t number = 1;
    bool active = false;
    bool ethernet = false;
    std::uint16_t lid = 0;
    ibv_mtu mtu = IBV_MTU_1024;
    std::uint32_t gid_index = 0;
    ibv_gid gid = {};
};

//! The first active port, else the first. Throws Error if not even that can be asked.
Port choose_port(const Context& context);

//! Of the entries of one port the one that peers are most likely to reach: RoCE v2 before v1, and there an IPv4
//! address before one of IPv6, and a link's own last. Nothing if there are none.
std::optional<ibv_gid_entry> choose_gid(std::span<const ibv_gid_entry> entries, std::uint32_t port) noexcept;

//! The IPv4 address that a gid is made of: "10.0.0.1"; else nothing.
std::optional<std::string> ipv4_of(const ibv_gid& gid);
//! An address of this machine that leads to the device: "10.0.0.1" or "[fe80::1]"; nothing if none is known.
std::optional<std::string> host_of(const Context& context);

} // namespace mrz::verbs
