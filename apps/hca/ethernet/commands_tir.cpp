// SPDX-License-Identifier: BSD-3-Clause
#include "ethernet/commands.hpp"
#include "ethernet/fields.hpp"
#include "ethernet/objects.hpp"
#include "firmware/selection.hpp"
#include "layouts/packet_transport.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <utility>

namespace mrz::ethernet {
namespace {

using namespace firmware;
using layouts::Block;
using layouts::get;
using layouts::is_set;
using layouts::part;
using layouts::set;
namespace tirc = layouts::tirc;

// MLX5_TIRC_DISP_TYPE_…, and the last of MLX5_RX_HASH_FN_…, of Linux's include/linux/mlx5/mlx5_ifc.h.
enum : std::uint64_t { direct = 0, indirect = 1 };
constexpr std::uint64_t last_hash = 2;

void check_hash(std::span<const std::byte> context)
{
    if (get(context, tirc::rx_hash_fn) > last_hash)
        throw Refusal{Status::bad_param, "there is no hash of that number"};
}

Tir::Target target_of(std::span<const std::byte> context, const Objects& objects, std::uint16_t uid)
{
    switch (get(context, tirc::disp_type)) {
    case direct:
        return objects.use<ReceiveQueue>(number_of(context, tirc::inline_rqn), uid);
    case indirect:
        return objects.use<QueueTable>(number_of(context, tirc::indirect_table), uid);
    default:
        throw Refusal{Status::bad_param, "packets go to a queue, or to a table of them"};
    }
}

void create(const Command& command, const Context& context)
{
    const auto given = part(command.in, layouts::create_tir_in::ctx);
    refuse_missing(given, {{tirc::tls_en, "decryption"},
                           {tirc::packet_merge_mask, "merging of packets"},
                           {tirc::tunneled_offload_en, "tunnels"}});
    check_hash(given);
    auto domain = context.objects.use<TransportDomain>(number_of(given, tirc::transport_domain), command.uid);
    auto target = target_of(given, context.objects, command.uid);
    const std::uint32_t number = context.objects.vacant(Kind::tir);
    context.objects.add(std::make_shared<Tir>(number, command.uid, Given(given.begin(), given.end()),
                                              std::move(domain), std::move(target)));
    set(command.out, layouts::create_tir_out::tirn, number);
}

void modify(const Command& command, const Context& context)
{
    namespace in = layouts::modify_tir_in;
    namespace bits = layouts::modify_tir_bitmask;
    const auto tir = context.objects.find<Tir>(number_of(command.in, in::tirn), command.uid);
    const auto changes = part(command.in, in::bitmask);
    const auto wanted = part(command.in, in::ctx);
    require_known(changes, {bits::packet_merge, bits::hash, bits::self_lb_en}, "a TIR");
    if (is_set(changes, bits::packet_merge))
        refuse_missing(wanted, {{tirc::packet_merge_mask, "merging of packets"}});
    if (is_set(changes, bits::hash)) {
        check_hash(wanted);
        for (const layouts::Field field : {tirc::rx_hash_symmetric, tirc::rx_hash_fn})
            set(tir->given, field, get(wanted, field));
        for (const Block block :
             {tirc::rx_hash_toeplitz_key, tirc::rx_hash_field_selector_outer, tirc::rx_hash_field_selector_inner})
            std::ranges::copy(part(wanted, block), part(std::span{tir->given}, block).begin());
    }
    if (is_set(changes, bits::self_lb_en))
        set(tir->given, tirc::self_lb_block, get(wanted, tirc::self_lb_block));
}

} // namespace

void add_ways_to_receive(Commands& commands, const Context& context)
{
    namespace l = layouts;
    context.objects.limit(Kind::tir, 1, 1U << context.settings.log_max_packet_queues);
    commands.add({0x900, "CREATE_TIR", l::create_tir_in::bytes, l::create_tir_out::bytes,
                  [context](const Command& command) { create(command, context); }});
    commands.add({0x901, "MODIFY_TIR", l::modify_tir_in::bytes, 16,
                  [context](const Command& command) { modify(command, context); }});
    commands.add({0x902, "DESTROY_TIR", l::destroy_tir_in::bytes, 16, [context](const Command& command) {
                      context.objects.destroy(Kind::tir, number_of(command.in, l::destroy_tir_in::tirn), command.uid);
                  }});
    commands.add(
        {0x903, "QUERY_TIR", l::query_tir_in::bytes, l::query_tir_out::bytes, [context](const Command& command) {
             const auto tir = context.objects.find<Tir>(number_of(command.in, l::query_tir_in::tirn), command.uid);
             std::ranges::copy(tir->given, part(command.out, l::query_tir_out::tir_context).begin());
         }});
}

} // namespace mrz::ethernet
