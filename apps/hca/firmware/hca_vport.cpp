// SPDX-License-Identifier: BSD-3-Clause
// The port as InfiniBand has it.
#include "firmware/port.hpp"

#include "layouts/vport.hpp"

#include <mrzone/base.hpp>

#include <string>

namespace mrz::firmware {

namespace {

using layouts::get;
using layouts::part;
using layouts::set;

constexpr std::uint64_t gids = 8;    // 8 << gid_table_size
constexpr std::uint64_t pkeys = 128; // 128 << pkey_table_size
constexpr std::uint64_t all_entries = 0xffff;
constexpr std::uint64_t link_local = 0xfe80'0000'0000'0000;

// InfiniBand's PortState and PortPhysicalState.
enum : std::uint64_t { port_down = 1, port_active = 4 };
enum : std::uint64_t { physical_disabled = 3, physical_link_up = 5 };

// What software may say that it is in CapabilityMask: a subnet manager, a communication manager, a device manager, …
// (ib_port_capability_mask_bits in Linux's include/rdma/ib_verbs.h).
constexpr std::uint32_t changeable_capabilities = 1U << 1 | 1U << 16 | 1U << 17 | 1U << 18 | 1U << 19 | 1U << 20;

void query_context(const Command& command, const Settings& settings, const PortState& state)
{
    namespace in = layouts::query_hca_vport_context_in;
    namespace port = layouts::hca_vport_context;
    require_own_vport(command.in, in::other_vport, in::vport_number);
    require_port(get(command.in, in::port_num));
    const auto out = part(command.out, layouts::query_hca_vport_context_out::hca_vport_context);
    const std::uint64_t port_state = state.up ? port_active : port_down;
    set(out, port::port_state, port_state);
    set(out, port::vport_state, port_state);
    set(out, port::port_physical_state, state.up ? physical_link_up : physical_disabled);
    set(out, port::vport_state_policy, 1); // up
    set(out, port::system_image_guid, settings.guid);
    set(out, port::port_guid, settings.guid);
    set(out, port::node_guid, settings.guid);
    set(out, port::cap_mask1, state.capabilities);
    set(out, port::cap_mask1_field_select, changeable_capabilities);
    set(out, port::lid, settings.lid);
    set(out, port::sm_lid, 1);
    set(out, port::subnet_timeout, 18);
}

void modify_context(const Command& command, PortState& state)
{
    namespace in = layouts::modify_hca_vport_context_in;
    namespace port = layouts::hca_vport_context;
    require_own_vport(command.in, in::other_vport, in::vport_number);
    require_port(get(command.in, in::port_num));
    const auto wanted = part(command.in, in::hca_vport_context);
    if (get(wanted, port::field_select) != 0)
        throw Refusal{Status::bad_param, "a port's GUIDs and policy are not to be changed"};
    const auto mask = static_cast<std::uint32_t>(get(wanted, port::cap_mask1_field_select));
    if ((mask & ~changeable_capabilities) != 0)
        throw Refusal{Status::bad_param, "no software provides the port's capabilities " + format_hex(mask)};
    state.capabilities =
        (state.capabilities & ~mask) | (static_cast<std::uint32_t>(get(wanted, port::cap_mask1)) & mask);
}

//! The first entry and the number of them that \p index asks for of a table of \p count.
std::pair<std::uint64_t, std::uint64_t> entries_of(std::uint64_t index, std::uint64_t count)
{
    if (index == all_entries)
        return {0, count};
    if (index >= count)
        throw Refusal{Status::ix,
                      "the table has " + std::to_string(count) + " entries, not " + std::to_string(index)};
    return {index, 1};
}

void require_room(std::span<std::byte> out, std::uint64_t bytes)
{
    if (out.size() < bytes)
        throw Refusal{Status::bad_outp_len, "its output needs " + std::to_string(bytes) + " bytes for the table"};
}

void query_gid(const Command& command, const Settings& settings)
{
    namespace in = layouts::query_hca_vport_gid_in;
    require_own_vport(command.in, in::other_vport, in::vport_number);
    require_port(get(command.in, in::port_num));
    const auto [first, count] = entries_of(get(command.in, in::gid_index), gids);
    const auto out = part(command.out, layouts::query_hca_vport_gid_out::gid);
    require_room(out, 16 * count);
    set(command.out, layouts::query_hca_vport_gid_out::gids_num, count);
    if (first == 0) {
        set(out, {0, 64}, link_local);
        set(out, {64, 64}, settings.guid);
    }
}

void query_pkey(const Command& command)
{
    namespace in = layouts::query_hca_vport_pkey_in;
    require_own_vport(command.in, in::other_vport, in::vport_number);
    require_port(get(command.in, in::port_num));
    const auto [first, count] = entries_of(get(command.in, in::pkey_index), pkeys);
    const auto out = part(command.out, layouts::query_hca_vport_pkey_out::pkey);
    require_room(out, layouts::pkey::bytes * count);
    if (first == 0)
        set(out, layouts::pkey::pkey, default_pkey);
}

} // namespace

void add_hca_vport(Commands& commands, const Context& context, PortState& state)
{
    const Settings& settings = context.settings;
    commands.add({0x762, "QUERY_HCA_VPORT_CONTEXT", 16, layouts::query_hca_vport_context_out::bytes,
                  [&](const Command& command) { query_context(command, settings, state); }});
    commands.add({0x763, "MODIFY_HCA_VPORT_CONTEXT", layouts::modify_hca_vport_context_in::bytes, 16,
                  [&](const Command& command) { modify_context(command, state); }});
    commands.add(
        {0x764, "QUERY_HCA_VPORT_GID", 16, 16, [&](const Command& command) { query_gid(command, settings); }});
}

void add_pkeys(Commands& commands)
{
    commands.add({0x765, "QUERY_HCA_VPORT_PKEY", 16, 16, query_pkey});
}

} // namespace mrz::firmware
