// SPDX-License-Identifier: BSD-3-Clause
// ACCESS_REG: registers of the port and of the device.
#include "firmware/port.hpp"

#include "layouts/registers.hpp"

#include <mrzone/base.hpp>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

namespace mrz::firmware {

namespace {

using layouts::get;
using layouts::part;
using layouts::set;

// Linux's include/linux/mlx5/driver.h, MLX5_REG_…
enum : std::uint64_t {
    reg_pmtu = 0x5003,
    reg_ptys = 0x5004,
    reg_paos = 0x5006,
    reg_pfcc = 0x5007,
    reg_ppcnt = 0x5008,
    reg_pvlc = 0x500f,
    reg_node_desc = 0x6001,
    reg_host_endianness = 0x7004,
};
enum : std::uint16_t { op_write = 0, op_read = 1 };

// A link of 100 Gb/s (port.h; InfiniBand's speeds are bits from single data rate on).
constexpr std::uint64_t protocol_infiniband = 1U << 0;
constexpr std::uint64_t protocol_ethernet = 1U << 2;
constexpr std::uint64_t width_1x_and_4x = 1U << 0 | 1U << 2;
constexpr std::uint64_t width_4x = 1U << 2;
constexpr std::uint64_t speeds_up_to_edr = 0x3f;
constexpr std::uint64_t speed_edr = 1U << 5;
constexpr std::uint64_t ethernet_100g = 1U << 20; // MLX5E_100GBASE_CR4
constexpr std::uint64_t one_virtual_lane = 1;
enum : std::uint64_t { status_up = 1, status_down = 2 };
// Groups of counters that an Ethernet port has: MLX5_…_COUNTERS_GROUP of Linux's include/linux/mlx5/device.h; 802.3,
// RFC 2863, 2819 and 3635, the extended ones, those by priority and by class, the physical layer's.
constexpr std::uint64_t rfc_2863 = 0x1;
constexpr std::array<std::uint64_t, 8> counter_groups = {0x0, rfc_2863, 0x2, 0x3, 0x5, 0x10, 0x11, 0x12};

struct Access {
    std::uint64_t reg;
    bool write;
    std::span<const std::byte> in;
    std::span<std::byte> out;
    LinkType link;
    PortState& state;
    const PortHooks& hooks;
};

[[noreturn]] void refuse(const Access& access, const std::string& why)
{
    throw Refusal{Status::bad_param, "register " + format_hex(access.reg) + ": " + why};
}

void port_type_and_speed(const Access& access)
{
    namespace reg = layouts::ptys_reg;
    require_port(get(access.in, reg::local_port));
    const std::uint64_t protocol = access.link == LinkType::infiniband ? protocol_infiniband : protocol_ethernet;
    if ((get(access.in, reg::proto_mask) & ~protocol) != 0) {
        if (access.write)
            refuse(access, "the link has one protocol, and not the other");
        return; // nothing of the other is there
    }
    if (access.write) {
        const bool possible = access.link == LinkType::infiniband
                                  ? (get(access.in, reg::ib_proto_admin) & ~speeds_up_to_edr) == 0
                                  : (get(access.in, reg::eth_proto_admin) & ~ethernet_100g) == 0;
        if (!possible)
            refuse(access, "the link has no such speed");
        return;
    }
    set(access.out, reg::local_port, 1);
    set(access.out, reg::proto_mask, protocol);
    if (access.link == LinkType::infiniband) {
        set(access.out, reg::ib_link_width_capability, width_1x_and_4x);
        set(access.out, reg::ib_link_width_admin, width_1x_and_4x);
        set(access.out, reg::ib_link_width_oper, width_4x);
        set(access.out, reg::ib_proto_capability, speeds_up_to_edr);
        set(access.out, reg::ib_proto_admin, speeds_up_to_edr);
        set(access.out, reg::ib_proto_oper, speed_edr);
    } else {
        set(access.out, reg::eth_proto_capability, ethernet_100g);
        set(access.out, reg::eth_proto_admin, ethernet_100g);
        set(access.out, reg::eth_proto_oper, access.state.up ? ethernet_100g : 0);
    }
}

void port_mtu(const Access& access)
{
    namespace reg = layouts::pmtu_reg;
    require_port(get(access.in, reg::local_port));
    if (access.write) {
        const std::uint64_t wanted = get(access.in, reg::admin_mtu);
        if (wanted == 0 || wanted > access.state.most_mtu)
            refuse(access, "the MTU is at most " + std::to_string(access.state.most_mtu));
        access.state.mtu = static_cast<std::uint32_t>(wanted);
    }
    set(access.out, reg::local_port, 1);
    set(access.out, reg::max_mtu, access.state.most_mtu);
    set(access.out, reg::admin_mtu, access.state.mtu);
    set(access.out, reg::oper_mtu, access.state.mtu);
}

void port_status(const Access& access)
{
    namespace reg = layouts::paos_reg;
    require_port(get(access.in, reg::local_port));
    if (access.write && layouts::is_set(access.in, reg::ase)) {
        const std::uint64_t wanted = get(access.in, reg::admin_status);
        if (wanted != status_up && wanted != status_down)
            refuse(access, "a port is up or down");
        const bool up = wanted == status_up;
        if (up != std::exchange(access.state.up, up) && access.hooks.changed)
            access.hooks.changed(up);
    }
    const std::uint64_t status = access.state.up ? status_up : status_down;
    set(access.out, reg::local_port, 1);
    set(access.out, reg::admin_status, status);
    set(access.out, reg::oper_status, status);
}

// Pauses: nothing is ever sent that could be paused, but the driver is told what it said. Those by priority are not
// modelled.
void flow_control(const Access& access)
{
    namespace reg = layouts::pfcc_reg;
    require_port(get(access.in, reg::local_port));
    if (access.write) {
        if (layouts::is_set(access.in, reg::pfctx) || layouts::is_set(access.in, reg::pfcrx))
            refuse(access, "there is no flow control by priority");
        access.state.flow_control_sent = layouts::is_set(access.in, reg::pptx);
        access.state.flow_control_heeded = layouts::is_set(access.in, reg::pprx);
    }
    set(access.out, reg::local_port, 1);
    set(access.out, reg::pptx, access.state.flow_control_sent ? 1U : 0U);
    set(access.out, reg::pprx, access.state.flow_control_heeded ? 1U : 0U);
}

// Counters of the link. Nothing has come over it; what was to be sent is among RFC 2863's.
void port_counters(const Access& access)
{
    namespace reg = layouts::ppcnt_reg;
    require_port(get(access.in, reg::local_port));
    const std::uint64_t group = get(access.in, reg::grp);
    if (access.write || layouts::is_set(access.in, reg::clr))
        refuse(access, "a port's counters are not set");
    if (std::ranges::find(counter_groups, group) == counter_groups.end())
        refuse(access, "there is no group " + format_hex(group));
    const auto counters = part(access.out, reg::counter_set);
    std::ranges::fill(counters, std::byte{});
    if (group == rfc_2863)
        set(counters, {layouts::eth_2863_cntrs_grp_data_layout::if_out_discards_high.offset, 64},
            access.hooks.packets_dropped ? access.hooks.packets_dropped() : 0);
}

void virtual_lanes(const Access& access)
{
    namespace reg = layouts::pvlc_reg;
    require_port(get(access.in, reg::local_port));
    if (access.write)
        refuse(access, "the number of virtual lanes is fixed");
    set(access.out, reg::local_port, 1);
    set(access.out, reg::vl_hw_cap, one_virtual_lane);
    set(access.out, reg::vl_admin, one_virtual_lane);
    set(access.out, reg::vl_operational, one_virtual_lane);
}

void node_description(const Access& access)
{
    auto& text = access.state.node_description;
    if (access.in.size() < text.size() || access.out.size() < text.size())
        refuse(access, "it has " + std::to_string(text.size()) + " bytes");
    if (access.write)
        std::ranges::copy(access.in.first(text.size()), text.begin());
    std::ranges::copy(text, access.out.begin());
}

//! The byte order of the host: only little endian is there.
void host_endianness(const Access& access)
{
    constexpr layouts::Field order{0, 8}; // main.c, struct mlx5_reg_host_endianness
    if (access.write && get(access.in, order) != 0)
        refuse(access, "hosts are little-endian here");
    set(access.out, order, 0);
}

void access_register(const Command& command, LinkType link, PortState& state, const PortHooks& hooks)
{
    namespace in = layouts::access_register_in;
    if (command.op_mod != op_write && command.op_mod != op_read)
        throw Refusal{Status::bad_param, "registers are read or written"};
    const Access access{get(command.in, in::register_id),
                        command.op_mod == op_write,
                        part(command.in, in::register_data),
                        part(command.out, layouts::access_register_out::register_data),
                        link,
                        state,
                        hooks};
    // What a register does not define comes back as it was given.
    std::ranges::copy(access.in.first(std::min(access.in.size(), access.out.size())), access.out.begin());
    switch (access.reg) {
    case reg_ptys:
        return port_type_and_speed(access);
    case reg_pmtu:
        return port_mtu(access);
    case reg_paos:
        return port_status(access);
    case reg_pvlc:
        return virtual_lanes(access);
    case reg_node_desc:
        return node_description(access);
    case reg_host_endianness:
        return host_endianness(access);
    default:
        break;
    }
    if (link == LinkType::ethernet) {
        if (access.reg == reg_pfcc)
            return flow_control(access);
        if (access.reg == reg_ppcnt)
            return port_counters(access);
    }
    refuse(access, "this device does not have it");
}

} // namespace

void add_port_registers(Commands& commands, const Context& context, PortState& state, const PortHooks& hooks)
{
    commands.add({0x805, "ACCESS_REG", 16, 16,
                  [&state, &hooks, link = context.settings.link](const Command& command) {
                      access_register(command, link, state, hooks);
                  },
                  true});
}

} // namespace mrz::firmware
