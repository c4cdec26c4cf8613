// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! The port: what the driver is told of it, and what it was told to be.
#pragma once

#include "firmware/context.hpp"
#include "layouts/field.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace mrz::firmware {

//! What a driver may set of the one port.
struct PortState {
    explicit PortState(const Settings& settings, std::uint32_t engine_mtu);

    bool up = true;             //!< As the driver wants it; there is always somebody at the other end.
    std::uint32_t capabilities; //!< InfiniBand's CapabilityMask.
    std::array<std::byte, 64> node_description{};
    std::uint32_t most_mtu; //!< Bytes.
    std::uint32_t mtu;
    // Ethernet:
    std::vector<std::byte> nic_vport;                    //!< A nic_vport_context, less its list.
    std::array<std::vector<std::uint64_t>, 3> addresses; //!< Unicast, multicast, VLANs.
    std::vector<std::array<std::byte, 32>> roce_addresses;
};

//! The commands are in files by subject, each of which adds its handlers; their state is here.
class Port {
  public:
    explicit Port(const Context& context);
    void add_to(Commands& commands);
    void reset();

    [[nodiscard]] const PortState& state() const noexcept { return state_; }

  private:
    const Context context_;
    PortState state_;
};

//! QUERY_HCA_VPORT_…, MODIFY_HCA_VPORT_CONTEXT: an InfiniBand port.
void add_hca_vport(Commands& commands, const Context& context, PortState& state);
//! …_NIC_VPORT_CONTEXT, QUERY_VPORT_STATE, …_ROCE_ADDRESS: an Ethernet port.
void add_nic_vport(Commands& commands, const Context& context, PortState& state);
//! QUERY_HCA_VPORT_PKEY, which drivers ask of either port (mlx5_ib's main.c, mlx5_ib_query_pkey).
void add_pkeys(Commands& commands);
//! ACCESS_REG.
void add_port_registers(Commands& commands, const Context& context, PortState& state);
//! MAD_IFC: the agent that answers management datagrams.
void add_mads(Commands& commands, const Context& context, PortState& state);

//! Throws bad_param for another function's vport, or another port.
void require_own_vport(std::span<const std::byte> in, layouts::Field other_vport, layouts::Field vport_number);
void require_port(std::uint64_t number);

} // namespace mrz::firmware
