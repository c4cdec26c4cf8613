// SPDX-License-Identifier: BSD-3-Clause
#include "ethernet/flow_tables.hpp"

#include "ethernet/fields.hpp"
#include "firmware/port.hpp"
#include "layouts/flow_tables.hpp"

#include <mrzone/base.hpp>

#include <algorithm>
#include <functional>
#include <iterator>
#include <memory>
#include <string>

namespace mrz::ethernet {
namespace {

using namespace firmware;
using layouts::get;
using layouts::is_set;
using layouts::part;
using layouts::set;
namespace ftc = layouts::flow_table_context;
namespace flow_context = layouts::flow_context;

// Linux's include/linux/mlx5/mlx5_ifc.h and device.h.
constexpr std::uint64_t of_received_packets = 0;             // FS_FT_NIC_RX
enum : std::uint64_t { miss_default = 0, miss_forward = 1 }; // MLX5_FLOW_TABLE_MISS_ACTION_…
constexpr std::uint64_t change_miss = 1;                     // MLX5_MODIFY_FLOW_TABLE_MISS_TABLE_ID
constexpr std::uint16_t disconnect = 1;                      // op_mod of SET_FLOW_TABLE_ROOT
enum : std::uint64_t { to_table = 1, to_tir = 2 };           // MLX5_IFC_FLOW_DESTINATION_TYPE_…
enum : std::uint64_t { allow = 1, drop = 2, forward = 4 };   // MLX5_FLOW_CONTEXT_ACTION_…
constexpr std::uint64_t outer_headers = 1;                   // MLX5_MATCH_OUTER_HEADERS
constexpr std::uint32_t most_groups = 1U << 16;

// Of any command of them, in the same places.
void check_place(std::span<const std::byte> in)
{
    namespace any = layouts::create_flow_table_in;
    require_own_vport(in, any::other_vport, any::vport_number);
    if (const std::uint64_t type = get(in, any::table_type); type != of_received_packets)
        throw Refusal{Status::bad_param,
                      "there are flow tables of received packets only, not of type " + std::to_string(type)};
}

std::shared_ptr<FlowTable> table_of(const Command& command, const Objects& objects)
{
    check_place(command.in);
    return objects.find<FlowTable>(number_of(command.in, layouts::destroy_flow_table_in::table_id), command.uid);
}

// The group that has an entry, if any has; else one before it.
FlowGroup* group_at_or_below(const FlowTable& table, std::uint32_t index)
{
    const auto after = table.groups.upper_bound(index);
    return after == table.groups.begin() ? nullptr : std::prev(after)->second;
}

void refuse_what_is_not_modelled(std::span<const std::byte> flow)
{
    refuse_missing(flow, {{flow_context::extended_destination, "extended destinations"},
                          {flow_context::flow_counter_list_size, "counters of flows"},
                          {flow_context::packet_reformat_id, "changes of packets"},
                          {flow_context::modify_header_id, "changes of headers"}});
}

} // namespace

void FlowGroup::end()
{
    tables_.entries_ -= entries.size();
    entries.clear();
    table->groups.erase(first);
}

FlowTables::FlowTables(const Context& context) : context_{context}
{
    context_.objects.limit(Kind::flow_table, 1, 1U << context_.settings.log_max_flow_tables);
    context_.objects.limit(Kind::flow_group, 1, most_groups);
}

void FlowTables::add_to(Commands& commands)
{
    namespace l = layouts;
    const auto add = [&commands](std::uint16_t opcode, std::string_view name, std::size_t least_in,
                                 std::size_t least_out, std::function<void(const Command&)> run) {
        commands.add({opcode, name, least_in, least_out, std::move(run)});
    };
    add(0x92f, "SET_FLOW_TABLE_ROOT", l::set_flow_table_root_in::bytes, 16,
        [this](const Command& command) { set_root(command); });
    add(0x930, "CREATE_FLOW_TABLE", l::create_flow_table_in::bytes, l::create_flow_table_out::bytes,
        [this](const Command& command) { create(command); });
    add(0x931, "DESTROY_FLOW_TABLE", l::destroy_flow_table_in::bytes, 16,
        [this](const Command& command) { destroy(command); });
    add(0x932, "QUERY_FLOW_TABLE", l::query_flow_table_in::bytes, l::query_flow_table_out::bytes,
        [this](const Command& command) { query(command); });
    add(0x933, "CREATE_FLOW_GROUP", l::create_flow_group_in::bytes, l::create_flow_group_out::bytes,
        [this](const Command& command) { create_group(command); });
    add(0x934, "DESTROY_FLOW_GROUP", l::destroy_flow_group_in::bytes, 16,
        [this](const Command& command) { destroy_group(command); });
    add(0x936, "SET_FLOW_TABLE_ENTRY", l::set_fte_in::bytes, 16,
        [this](const Command& command) { set_entry(command); });
    add(0x938, "DELETE_FLOW_TABLE_ENTRY", l::delete_fte_in::bytes, 16,
        [this](const Command& command) { delete_entry(command); });
    add(0x93c, "MODIFY_FLOW_TABLE", l::modify_flow_table_in::bytes, 16,
        [this](const Command& command) { modify(command); });
}

// ---- Tables -------------------------------------------------------------------------------------------------------

Use<FlowTable> FlowTables::next_of(std::span<const std::byte> context, std::uint32_t level, std::uint16_t uid) const
{
    switch (get(context, ftc::table_miss_action)) {
    case miss_default:
        return {};
    case miss_forward:
        break;
    default:
        throw Refusal{Status::bad_param, "what no entry matches goes to another table, or the usual way"};
    }
    auto next = context_.objects.use<FlowTable>(number_of(context, ftc::table_miss_id), uid);
    if (next->level <= level)
        throw Refusal{Status::bad_param, "a table of level " + std::to_string(level) +
                                             " leads to higher ones, not to " + std::to_string(next->level)};
    return next;
}

void FlowTables::create(const Command& command)
{
    check_place(command.in);
    if (command.op_mod != 0)
        throw Refusal{Status::bad_param, "ports are not bundled here"};
    const auto given = part(command.in, layouts::create_flow_table_in::flow_table_context);
    refuse_missing(given, {{ftc::sw_owner, "tables that software owns"},
                           {ftc::reformat_en, "changes of packets"},
                           {ftc::decap_en, "tunnels"},
                           {ftc::termination_table, "tables that end in a port"}});
    const std::uint32_t level = number_of(given, ftc::level);
    const std::uint64_t log_size = get(given, ftc::log_size);
    if (level >= context_.settings.most_flow_table_level)
        throw Refusal{Status::bad_param, "there is no level " + std::to_string(level)};
    if (log_size > context_.settings.log_max_flow_table_entries)
        throw Refusal{Status::bad_param, "a table of 2^" + std::to_string(log_size) + " entries"};
    auto next = next_of(given, level, command.uid);
    const std::uint32_t number = context_.objects.vacant(Kind::flow_table);
    context_.objects.add(std::make_shared<FlowTable>(number, command.uid, Given(given.begin(), given.end()), level,
                                                     1U << log_size, std::move(next)));
    set(command.out, layouts::create_flow_table_out::table_id, number);
}

void FlowTables::modify(const Command& command)
{
    const auto table = table_of(command, context_.objects);
    if (get(command.in, layouts::modify_flow_table_in::modify_field_select) != change_miss)
        throw Refusal{Status::bad_param, "of a table it may be changed where goes what no entry matches"};
    const auto wanted = part(command.in, layouts::modify_flow_table_in::flow_table_context);
    table->next = next_of(wanted, table->level, command.uid);
    for (const layouts::Field field : {ftc::table_miss_action, ftc::table_miss_id})
        set(table->given, field, get(wanted, field));
}

void FlowTables::destroy(const Command& command)
{
    // It may be the root: then there is none (Linux's fs_core.c, update_root_ft_destroy).
    context_.objects.destroy(Kind::flow_table, table_of(command, context_.objects)->number(), command.uid);
}

void FlowTables::query(const Command& command) const
{
    const auto table = table_of(command, context_.objects);
    std::ranges::copy(table->given, part(command.out, layouts::query_flow_table_out::flow_table_context).begin());
}

// Packets would begin there. None does, so that it need only make sense.
void FlowTables::set_root(const Command& command) const
{
    check_place(command.in);
    if (command.uid != 0)
        throw Refusal{Status::bad_param, "the kernel's packets go where the kernel wants"};
    if (command.op_mod > disconnect)
        throw Refusal{Status::bad_param, "a table is made the root, or there is none"};
    if (is_set(command.in, layouts::set_flow_table_root_in::underlay_qpn))
        throw Refusal{Status::bad_param, "there are no packets over InfiniBand"};
    if (command.op_mod != disconnect)
        static_cast<void>(table_of(command, context_.objects));
}

// ---- Groups -------------------------------------------------------------------------------------------------------

void FlowTables::create_group(const Command& command)
{
    namespace in = layouts::create_flow_group_in;
    const auto table = table_of(command, context_.objects);
    const std::uint32_t first = number_of(command.in, in::start_flow_index);
    const std::uint32_t last = number_of(command.in, in::end_flow_index);
    if (is_set(command.in, in::group_type))
        throw Refusal{Status::bad_param, "there are no groups by hash"};
    if ((get(command.in, in::match_criteria_enable) & ~outer_headers) != 0)
        throw Refusal{Status::bad_param, "outer headers are compared, and nothing else of a packet"};
    if (first > last || last >= table->entries)
        throw Refusal{Status::bad_param, "entries " + std::to_string(first) + " to " + std::to_string(last) +
                                             " of a table of " + std::to_string(table->entries)};
    if (const FlowGroup* const below = group_at_or_below(*table, last); below != nullptr && below->last >= first)
        throw Refusal{Status::bad_param, "another group has some of the entries " + std::to_string(first) + " to " +
                                             std::to_string(last)};
    FlowGroup::Match criteria{};
    if (is_set(command.in, in::match_criteria_enable))
        std::ranges::copy(part(command.in, in::match_criteria), criteria.begin());
    const std::uint32_t number = context_.objects.vacant(Kind::flow_group);
    auto group =
        std::make_shared<FlowGroup>(*this, number, command.uid, Use<FlowTable>{table}, first, last, criteria);
    table->groups.emplace(first, group.get());
    try {
        context_.objects.add(std::move(group));
    } catch (...) {
        table->groups.erase(first);
        throw;
    }
    set(command.out, layouts::create_flow_group_out::group_id, number);
}

void FlowTables::destroy_group(const Command& command)
{
    const auto table = table_of(command, context_.objects);
    const auto group = context_.objects.find<FlowGroup>(
        number_of(command.in, layouts::destroy_flow_group_in::group_id), command.uid);
    if (group->table.get() != table.get())
        throw Refusal{Status::bad_res, "the group is another table's"};
    if (!group->entries.empty())
        throw Refusal{Status::bad_res_state, "the group has " + std::to_string(group->entries.size()) + " entries"};
    context_.objects.destroy(Kind::flow_group, group->number(), command.uid);
}

// ---- Entries ------------------------------------------------------------------------------------------------------

std::vector<FlowGroup::Destination> FlowTables::destinations_of(std::span<const std::byte> flow, std::uint32_t level,
                                                                std::uint16_t uid) const
{
    namespace one = layouts::dest_format_struct;
    const std::uint64_t count = get(flow, flow_context::destination_list_size);
    const auto list = part(flow, flow_context::destination);
    if (count > 1U << context_.settings.log_max_flow_destinations)
        throw Refusal{Status::bad_param, std::to_string(count) + " destinations of an entry"};
    if (list.size() / one::bytes < count)
        throw Refusal{Status::bad_inp_len, "there are fewer destinations than " + std::to_string(count)};
    std::vector<FlowGroup::Destination> destinations;
    for (std::size_t i = 0; i < count; ++i) {
        const auto at = list.subspan(i * one::bytes, one::bytes);
        const std::uint32_t number = number_of(at, one::destination_id);
        switch (get(at, one::destination_type)) {
        case to_tir:
            destinations.emplace_back(context_.objects.use<Tir>(number, uid));
            break;
        case to_table: {
            auto table = context_.objects.use<FlowTable>(number, uid);
            if (table->level <= level)
                throw Refusal{Status::bad_param, "a table of level " + std::to_string(level) +
                                                     " leads to higher ones, not to " + std::to_string(table->level)};
            destinations.emplace_back(std::move(table));
            break;
        }
        default:
            throw Refusal{Status::bad_param, "packets go to queues and tables, not to destinations of type " +
                                                 std::to_string(get(at, one::destination_type))};
        }
    }
    return destinations;
}

void FlowTables::set_entry(const Command& command)
{
    namespace in = layouts::set_fte_in;
    const auto table = table_of(command, context_.objects);
    const auto flow = command.in.subspan(in::flow_context.offset);
    refuse_what_is_not_modelled(flow);
    if (command.op_mod != 0)
        throw Refusal{Status::bad_param, "an entry is set, and not changed (flow_modify_en is 0)"};
    if (is_set(command.in, in::ignore_flow_level))
        throw Refusal{Status::bad_param, "levels are not ignored"};
    const std::uint32_t index = number_of(command.in, in::flow_index);
    const auto group = context_.objects.find<FlowGroup>(number_of(flow, flow_context::group_id), command.uid);
    if (group->table.get() != table.get())
        throw Refusal{Status::bad_res, "the group is another table's"};
    if (index < group->first || index > group->last)
        throw Refusal{Status::ix, "entry " + std::to_string(index) + " is not of the group, which has " +
                                      std::to_string(group->first) + " to " + std::to_string(group->last)};
    if (group->entries.contains(index))
        throw Refusal{Status::bad_res_state, "entry " + std::to_string(index) + " is set"};
    if (const std::uint64_t most = std::uint64_t{1} << context_.settings.log_max_flows; entries_ >= most)
        throw Refusal{Status::no_res, "all flow tables have " + std::to_string(most) + " entries, as many as may be"};
    FlowGroup::Entry entry{.tag = number_of(flow, flow_context::flow_tag),
                           .action = static_cast<std::uint16_t>(get(flow, flow_context::action)),
                           .value = {},
                           .destinations = {}};
    if ((entry.action & ~(allow | drop | forward)) != 0 || (entry.action & (drop | forward)) == (drop | forward))
        throw Refusal{Status::bad_param, "packets are dropped or forwarded, and not " + format_hex(entry.action)};
    std::ranges::copy(part(flow, flow_context::match_value), entry.value.begin());
    entry.destinations = destinations_of(flow, table->level, command.uid);
    if (((entry.action & forward) != 0) == entry.destinations.empty())
        throw Refusal{Status::bad_param, "who forwards says where to, and nobody else does"};
    group->entries.emplace(index, std::move(entry));
    ++entries_;
}

void FlowTables::delete_entry(const Command& command)
{
    const auto table = table_of(command, context_.objects);
    const std::uint32_t index = number_of(command.in, layouts::delete_fte_in::flow_index);
    FlowGroup* const group = group_at_or_below(*table, index);
    if (group == nullptr || group->entries.erase(index) == 0)
        throw Refusal{Status::bad_res, "there is no entry " + std::to_string(index)};
    --entries_;
}

} // namespace mrz::ethernet
