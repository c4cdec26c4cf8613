// SPDX-License-Identifier: BSD-3-Clause
// The port as Ethernet has it.
#include "firmware/port.hpp"

#include "firmware/selection.hpp"
#include "layouts/vport.hpp"

#include <algorithm>
#include <string>

namespace mrz::firmware {

namespace {

using layouts::get;
using layouts::part;
using layouts::set;

constexpr std::uint64_t list_types = 3;

void query_context(const Command& command, const PortState& state)
{
    namespace in = layouts::query_nic_vport_context_in;
    namespace vport = layouts::nic_vport_context;
    require_own_vport(command.in, in::other_vport, in::vport_number);
    const std::uint64_t type = get(command.in, in::allowed_list_type);
    if (type >= list_types)
        throw Refusal{Status::bad_param, "there are no lists of type " + std::to_string(type)};
    const auto out = part(command.out, layouts::query_nic_vport_context_out::nic_vport_context);
    std::ranges::copy(state.nic_vport, out.begin());
    const auto& list = state.addresses.at(type);
    // A driver that does not ask for the list leaves no room for it.
    const auto room = command.out.subspan(layouts::query_nic_vport_context_out::nic_vport_context.offset +
                                          vport::current_uc_mac_address.offset);
    const std::size_t count = std::min(list.size(), room.size() / 8);
    set(out, vport::allowed_list_type, type);
    set(out, vport::allowed_list_size, list.size());
    for (std::size_t i = 0; i < count; ++i)
        set(room.subspan(8 * i, 8), {0, 64}, list[i]);
}

std::vector<std::uint64_t> read_list(std::span<const std::byte> from, std::uint64_t count)
{
    if (from.size() / 8 < count)
        throw Refusal{Status::bad_inp_len, "the list has fewer addresses than " + std::to_string(count)};
    std::vector<std::uint64_t> list;
    for (std::size_t i = 0; i < count; ++i)
        list.push_back(get(from.subspan(8 * i, 8), {0, 64}));
    return list;
}

void modify_context(const Command& command, const Settings& settings, PortState& state)
{
    namespace in = layouts::modify_nic_vport_context_in;
    namespace select = layouts::modify_nic_vport_field_select;
    namespace vport = layouts::nic_vport_context;
    require_own_vport(command.in, in::other_vport, in::vport_number);
    const auto selected = part(command.in, in::field_select);
    require_known(selected,
                  {select::addresses_list, select::node_guid, select::port_guid, select::mtu, select::min_inline,
                   select::promisc, select::change_event, select::roce_en, select::disable_uc_local_lb,
                   select::disable_mc_local_lb, select::permanent_address},
                  "a vport");
    const auto wanted = command.in.subspan(in::nic_vport_context.offset);
    if (layouts::is_set(selected, select::addresses_list)) {
        const std::uint64_t type = get(wanted, vport::allowed_list_type);
        if (type >= list_types)
            throw Refusal{Status::bad_param, "there are no lists of type " + std::to_string(type)};
        const std::uint64_t count = get(wanted, vport::allowed_list_size);
        if (count > 1U << settings.log_max_addresses)
            throw Refusal{Status::lim, "a list of " + std::to_string(count) + " addresses"};
        state.addresses.at(type) = read_list(part(wanted, vport::current_uc_mac_address), count);
    }
    const auto take = [&](layouts::Field chosen, std::initializer_list<layouts::Field> fields) {
        if (!layouts::is_set(selected, chosen))
            return;
        for (const layouts::Field field : fields)
            set(state.nic_vport, field, get(wanted, field));
    };
    take(select::node_guid, {vport::node_guid});
    take(select::port_guid, {vport::port_guid});
    take(select::mtu, {vport::mtu});
    take(select::min_inline, {vport::min_wqe_inline_mode});
    take(select::promisc, {vport::promisc_uc, vport::promisc_mc, vport::promisc_all});
    take(select::change_event, {vport::arm_change_event, vport::event_on_mtu});
    take(select::roce_en, {vport::roce_en});
    take(select::disable_uc_local_lb, {vport::disable_uc_local_lb});
    take(select::disable_mc_local_lb, {vport::disable_mc_local_lb});
    if (layouts::is_set(selected, select::permanent_address))
        std::ranges::copy(part(wanted, vport::permanent_address),
                          part(std::span{state.nic_vport}, vport::permanent_address).begin());
}

void query_state(const Command& command, const PortState& state)
{
    namespace in = layouts::query_vport_state_in;
    require_own_vport(command.in, in::other_vport, in::vport_number);
    if (command.op_mod != 0)
        throw Refusal{Status::bad_param, "there is neither an embedded switch nor an uplink of one"};
    set(command.out, layouts::query_vport_state_out::admin_state, state.up ? 1U : 0U);
    set(command.out, layouts::query_vport_state_out::state, state.up ? 1U : 0U);
}

// Nothing has ever come, and what was to be sent was dropped.
void query_counters(const Command& command, const PortHooks& hooks)
{
    namespace in = layouts::query_vport_counter_in;
    namespace out = layouts::query_vport_counter_out;
    require_own_vport(command.in, in::other_vport, in::vport_number);
    require_port(get(command.in, in::port_num));
    if (layouts::is_set(command.in, in::clear))
        throw Refusal{Status::bad_param, "a port's counters are not cleared"};
    set(part(command.out, out::transmit_errors), layouts::traffic_counter::packets,
        hooks.packets_dropped ? hooks.packets_dropped() : 0);
}

} // namespace

void add_nic_vport(Commands& commands, const Context& context, PortState& state, const PortHooks& hooks)
{
    namespace l = layouts;
    commands.add({0x754, "QUERY_NIC_VPORT_CONTEXT", 16,
                  l::query_nic_vport_context_out::nic_vport_context.offset + l::nic_vport_context::bytes,
                  [&](const Command& command) { query_context(command, state); }});
    commands.add({0x755, "MODIFY_NIC_VPORT_CONTEXT",
                  l::modify_nic_vport_context_in::nic_vport_context.offset + l::nic_vport_context::bytes, 16,
                  [&](const Command& command) { modify_context(command, context.settings, state); }});
    commands.add({0x750, "QUERY_VPORT_STATE", 16, 16, [&](const Command& command) { query_state(command, state); }});
    commands.add({0x770, "QUERY_VPORT_COUNTER", l::query_vport_counter_in::bytes, l::query_vport_counter_out::bytes,
                  [&](const Command& command) { query_counters(command, hooks); }});
}

} // namespace mrz::firmware
