// SPDX-License-Identifier: BSD-3-Clause
// MAD_IFC: what the device answers to management datagrams that the driver hands it. Most that a port is asked goes
// through QUERY_HCA_VPORT_… instead.
#include "firmware/port.hpp"

#include "layouts/vport.hpp"

#include <algorithm>

namespace mrz::firmware {

namespace {

using layouts::get;
using layouts::part;
using layouts::set;

// InfiniBand specification, volume 1, chapters 13 and 14: the common header, and a subnet management packet.
namespace mad {
constexpr layouts::Field management_class{8, 8};
constexpr layouts::Field method{24, 8};
constexpr layouts::Field status{32, 16};
constexpr layouts::Field attribute{128, 16};
constexpr layouts::Block data{64, 64};
} // namespace mad

enum : std::uint64_t { method_get = 0x01, method_get_response = 0x81 };
enum : std::uint64_t { class_lid_routed = 0x01, class_directed_route = 0x81 };
enum : std::uint64_t { attribute_node_description = 0x10, attribute_node_info = 0x11 };
enum : std::uint64_t { status_no_such_method = 0x8, status_no_such_attribute = 0xc };

namespace node_info {
constexpr layouts::Field base_version{0, 8};
constexpr layouts::Field class_version{8, 8};
constexpr layouts::Field node_type{16, 8};
constexpr layouts::Field ports{24, 8};
constexpr layouts::Field system_image_guid{32, 64};
constexpr layouts::Field node_guid{96, 64};
constexpr layouts::Field port_guid{160, 64};
constexpr layouts::Field partition_capacity{224, 16};
constexpr layouts::Field device{240, 16};
constexpr layouts::Field local_port{288, 8};
constexpr layouts::Field vendor{296, 24};
} // namespace node_info

void answer_node_info(std::span<std::byte> data, const Settings& settings)
{
    set(data, node_info::base_version, 1);
    set(data, node_info::class_version, 1);
    set(data, node_info::node_type, 1); // a channel adapter
    set(data, node_info::ports, 1);
    set(data, node_info::system_image_guid, settings.guid);
    set(data, node_info::node_guid, settings.guid);
    set(data, node_info::port_guid, settings.guid);
    set(data, node_info::partition_capacity, 128);
    set(data, node_info::device, 4121); // ConnectX-5 Ex
    set(data, node_info::local_port, 1);
    set(data, node_info::vendor, 0x0002c9);
}

void answer(const Command& command, const Settings& settings, const PortState& state)
{
    require_port(get(command.in, layouts::mad_ifc_in::port));
    const auto request = part(command.in, layouts::mad_ifc_in::mad);
    const auto response = part(command.out, layouts::mad_ifc_out::response_mad_packet);
    std::ranges::copy(request, response.begin());
    set(response, mad::method, method_get_response);
    const std::uint64_t management_class = get(request, mad::management_class);
    const std::uint64_t attribute = get(request, mad::attribute);
    const bool subnet = management_class == class_lid_routed || management_class == class_directed_route;
    const auto data = part(response, mad::data);
    if (!subnet || get(request, mad::method) != method_get)
        set(response, mad::status, status_no_such_method);
    else if (attribute == attribute_node_description)
        std::ranges::copy(state.node_description, data.begin());
    else if (attribute == attribute_node_info)
        answer_node_info(data, settings);
    else
        set(response, mad::status, status_no_such_attribute);
}

} // namespace

void add_mads(Commands& commands, const Context& context, PortState& state)
{
    commands.add(
        {0x50d, "MAD_IFC", layouts::mad_ifc_in::bytes, layouts::mad_ifc_out::bytes,
         [&settings = context.settings, &state](const Command& command) { answer(command, settings, state); }});
}

} // namespace mrz::firmware
