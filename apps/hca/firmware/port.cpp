// SPDX-License-Identifier: BSD-3-Clause
#include "firmware/port.hpp"

#include "layouts/vport.hpp"

#include <algorithm>
#include <string>
#include <string_view>

namespace mrz::firmware {

namespace {

constexpr std::uint32_t ethernet_mtu = 1522; // 1500, and what frames have besides
constexpr std::uint32_t most_ethernet_mtu = 9978;

// InfiniBand's CapabilityMask: a system image GUID is supported, and extended speeds.
constexpr std::uint32_t capabilities_at_start = 1U << 11 | 1U << 14;

} // namespace

PortState::PortState(const Settings& settings, std::uint32_t engine_mtu)
    : capabilities{capabilities_at_start}, most_mtu{settings.link == LinkType::ethernet ? most_ethernet_mtu
                                                                                        : engine_mtu},
      mtu{settings.link == LinkType::ethernet ? ethernet_mtu : engine_mtu},
      nic_vport(layouts::nic_vport_context::bytes)
{
    constexpr std::string_view name = "mrz-hca";
    std::ranges::transform(name, node_description.begin(), [](char c) { return static_cast<std::byte>(c); });
    namespace vport = layouts::nic_vport_context;
    layouts::set(nic_vport, vport::mtu, mtu);
    layouts::set(nic_vport, vport::system_image_guid, settings.guid);
    layouts::set(nic_vport, vport::port_guid, settings.guid);
    layouts::set(nic_vport, vport::node_guid, settings.guid);
    std::uint64_t mac = 0;
    for (const std::uint8_t byte : settings.mac)
        mac = mac << 8 | byte;
    const auto address = part(std::span{nic_vport}, vport::permanent_address);
    layouts::set(address, layouts::mac_address_layout::mac_addr_47_32, mac >> 32);
    layouts::set(address, layouts::mac_address_layout::mac_addr_31_0, mac);
}

Port::Port(const Context& context) : context_{context}, state_{context.settings, context.engine.options().mtu} {}

void Port::add_to(Commands& commands)
{
    add_port_registers(commands, context_, state_, hooks_);
    add_mads(commands, context_, state_);
    add_pkeys(commands);
    if (context_.settings.link == LinkType::infiniband) {
        add_hca_vport(commands, context_, state_);
        return;
    }
    add_nic_vport(commands, context_, state_, hooks_);
    add_roce_addresses(commands, roce_);
}

void Port::reset()
{
    state_ = PortState{context_.settings, context_.engine.options().mtu};
    roce_.clear();
}

void require_own_vport(std::span<const std::byte> in, layouts::Field other_vport, layouts::Field vport_number)
{
    if (layouts::is_set(in, other_vport) || layouts::is_set(in, vport_number))
        throw Refusal{Status::bad_param, "there is no vport but the function's own"};
}

void require_port(std::uint64_t number)
{
    if (number > 1)
        throw Refusal{Status::bad_param, "there is no port " + std::to_string(number)};
}

} // namespace mrz::firmware
