// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! The port: what the driver is told of it, and what it was told to be.
#pragma once

#include "firmware/context.hpp"
#include "firmware/roce_addresses.hpp"
#include "layouts/field.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
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
    bool flow_control_sent = false;                      //!< PFCC: pauses of the link.
    bool flow_control_heeded = false;
};

//! What the port's commands do to others, and ask of them. Either may be empty.
struct PortHooks {
    std::function<void(bool up)> changed;           //!< The driver has turned it on or off.
    std::function<std::uint64_t()> packets_dropped; //!< That were to be sent, since the device was made.
};

//! The commands are in files by subject, each of which adds its handlers; their state is here.
class Port {
  public:
    explicit Port(const Context& context);
    void add_to(Commands& commands);
    void reset();
    //! Before the first command.
    void set_hooks(PortHooks hooks) { hooks_ = std::move(hooks); }

    [[nodiscard]] const PortState& state() const noexcept { return state_; }
    [[nodiscard]] const RoceAddresses& roce_addresses() const noexcept { return roce_; }

  private:
    const Context context_;
    PortState state_;
    PortHooks hooks_;
    RoceAddresses roce_;
};

//! QUERY_HCA_VPORT_…, MODIFY_HCA_VPORT_CONTEXT: an InfiniBand port.
void add_hca_vport(Commands& commands, const Context& context, PortState& state);
//! …_NIC_VPORT_CONTEXT, QUERY_VPORT_STATE, QUERY_VPORT_COUNTER: an Ethernet port.
void add_nic_vport(Commands& commands, const Context& context, PortState& state, const PortHooks& hooks);
//! …_ROCE_ADDRESS.
void add_roce_addresses(Commands& commands, RoceAddresses& addresses);
//! The partition that all are full members of: each entry of the port's table.
inline constexpr std::uint64_t default_pkey = 0xffff;
//! QUERY_HCA_VPORT_PKEY, which drivers ask of either port (mlx5_ib's main.c, mlx5_ib_query_pkey).
void add_pkeys(Commands& commands);
//! ACCESS_REG.
void add_port_registers(Commands& commands, const Context& context, PortState& state, const PortHooks& hooks);
//! MAD_IFC: the agent that answers management datagrams.
void add_mads(Commands& commands, const Context& context, PortState& state);

//! Throws bad_param for another function's vport, or another port.
void require_own_vport(std::span<const std::byte> in, layouts::Field other_vport, layouts::Field vport_number);
void require_port(std::uint64_t number);

} // namespace mrz::firmware
