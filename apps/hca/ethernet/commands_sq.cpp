// SPDX-License-Identifier: BSD-3-Clause
#include "ethernet/commands.hpp"
#include "ethernet/fields.hpp"
#include "ethernet/objects.hpp"
#include "ethernet/work_queues.hpp"
#include "layouts/doorbells.hpp"
#include "layouts/packet_queues.hpp"
#include "layouts/rmpc.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

namespace mrz::ethernet {
namespace {

using namespace firmware;
using layouts::get;
using layouts::is_set;
using layouts::part;
using layouts::set;
using queues::PacketQueueState;
namespace sqc = layouts::sqc;
namespace wq = layouts::wq;

// Doorbells are rung by number, for queue pairs as for these: theirs are far above.
constexpr std::uint32_t first_number = 0xa0'0000;
constexpr unsigned log_block = 6;
constexpr std::uint64_t real_time = 2; // MLX5_TIMESTAMP_FORMAT_REAL_TIME

void refuse_what_is_not_modelled(std::span<const std::byte> context)
{
    refuse_missing(context, {{sqc::rlky, "a reserved key in send queues"},
                             {sqc::cd_master, "send queues that release others"},
                             {sqc::fre, "registration by work in send queues of packets"},
                             {sqc::allow_multi_pkt_send_wqe, "entries of several packets"},
                             {sqc::reg_umr, "changes of keys by send queues of packets"},
                             {sqc::allow_swp, "parsing of packets by software"},
                             {sqc::hairpin, "hairpins"},
                             {sqc::ts_cqe_to_dest_cqn, "completions of time stamps"},
                             {sqc::packet_pacing_rate_limit_index, "rate limits"},
                             {sqc::qos_queue_group_id, "groups of queues"}});
    if (get(context, sqc::ts_format) == real_time)
        throw Refusal{Status::bad_param, "time stamps are free-running here"};
    if (get(context, sqc::state) != static_cast<std::uint64_t>(State::reset))
        throw Refusal{Status::bad_param, "a send queue begins reset"};
}

} // namespace

SendQueueCommands::SendQueueCommands(const queues::CommandParts& parts) : parts_{parts}
{
    parts_.context.objects.limit(Kind::sq, first_number, 1U << parts_.context.settings.log_max_packet_queues);
}

void SendQueueCommands::add_to(Commands& commands)
{
    namespace l = layouts;
    commands.add({0x904, "CREATE_SQ", l::create_sq_in::bytes, l::create_sq_out::bytes,
                  [this](const Command& command) { create(command); }});
    commands.add({0x905, "MODIFY_SQ", l::modify_sq_in::ctx.offset + std::size_t{sqc::wq.offset}, 16,
                  [this](const Command& command) { modify(command); }});
    commands.add({0x906, "DESTROY_SQ", l::destroy_sq_in::bytes, 16, [this](const Command& command) {
                      parts_.context.objects.destroy(Kind::sq, number_of(command.in, l::destroy_sq_in::sqn),
                                                     command.uid);
                  }});
    commands.add({0x907, "QUERY_SQ", l::query_sq_in::bytes, l::query_sq_out::bytes,
                  [this](const Command& command) { query(command); }});
}

void SendQueueCommands::create(const Command& command)
{
    static constexpr std::size_t queue_at = layouts::create_sq_in::ctx.offset + std::size_t{sqc::wq.offset};
    Objects& objects = parts_.context.objects;
    const auto context = part(command.in, layouts::create_sq_in::ctx);
    const auto queue = part(context, sqc::wq);
    refuse_what_is_not_modelled(context);
    const WorkQueueShape shape = checked_ring(command.in, queue_at, log_block, log_block, parts_.context);
    queues::RingMemory memory =
        queues::find_memory(objects, command.uid,
                            queues::place_of_work_queue(command.in, queue_at,
                                                        std::uint64_t{1} << (shape.log_entries + shape.log_stride)));

    SendQueue::Uses uses;
    uses.umems = std::move(memory.umems);
    uses.pd = objects.use<ProtectionDomain>(number_of(queue, wq::pd), command.uid);
    queues::PacketQueueOptions options;
    options.cq = number_of(context, sqc::cqn);
    uses.cq = objects.use<queues::CompletionQueueObject>(options.cq, command.uid);
    options.uar = number_of(queue, wq::uar_page);
    uses.uar = objects.use<Uar>(options.uar, command.uid, Of::uid_or_kernel);
    switch (get(context, sqc::tis_lst_sz)) {
    case 0:
        break;
    case 1:
        uses.tis = objects.use<Tis>(number_of(context, sqc::tis_num_0), command.uid);
        break;
    default:
        throw Refusal{Status::bad_param, "a send queue has one TIS"};
    }
    options.ring = {std::move(memory.pages), 0, shape.log_entries, shape.log_stride,
                    memory.record + layouts::qp_record_send};
    options.user_index = number_of(context, sqc::user_index);
    options.flushes = is_set(context, sqc::flush_in_error_en);

    const std::uint32_t number = objects.vacant(Kind::sq);
    parts_.path.create_packet_queue(number, std::move(options));
    try {
        objects.add(std::make_shared<SendQueue>(
            parts_.path, number, command.uid, Given(context.begin(), context.begin() + sqc::bytes), std::move(uses)));
    } catch (...) {
        parts_.path.destroy_packet_queue(number);
        throw;
    }
    set(command.out, layouts::create_sq_out::sqn, number);
}

void SendQueueCommands::modify(const Command& command)
{
    namespace in = layouts::modify_sq_in;
    const std::uint32_t number = number_of(command.in, in::sqn);
    static_cast<void>(parts_.context.objects.find<SendQueue>(number, command.uid));
    if (get(command.in, in::modify_bitmask) != 0)
        throw Refusal{Status::bad_param, "a send queue has neither a rate limit nor a group"};
    const auto present = static_cast<State>(parts_.path.query_packet_queue(number).state);
    const State to =
        checked_transition(present, get(command.in, in::sq_state), get(part(command.in, in::ctx), sqc::state));
    parts_.path.modify_packet_queue(number, static_cast<PacketQueueState>(to));
}

void SendQueueCommands::query(const Command& command) const
{
    const std::uint32_t number = number_of(command.in, layouts::query_sq_in::sqn);
    const auto object = parts_.context.objects.find<SendQueue>(number, command.uid);
    const auto info = parts_.path.query_packet_queue(number);
    const auto context = part(command.out, layouts::query_sq_out::sq_context);
    std::ranges::copy(object->given(), context.begin());
    set(context, sqc::state, static_cast<std::uint64_t>(info.state));
    set(part(context, sqc::wq), wq::hw_counter, info.consumed);
}

} // namespace mrz::ethernet
