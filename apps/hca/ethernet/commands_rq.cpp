// SPDX-License-Identifier: BSD-3-Clause
#include "ethernet/commands.hpp"
#include "ethernet/fields.hpp"
#include "ethernet/objects.hpp"
#include "ethernet/work_queues.hpp"
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
using layouts::part;
using layouts::set;
namespace rqc = layouts::rqc;
namespace wq = layouts::wq;

constexpr std::uint32_t first_number = 0xc0'0000;
constexpr unsigned least_log_stride = 4;
constexpr unsigned most_log_stride = 11;
constexpr std::uint64_t real_time = 2; // MLX5_TIMESTAMP_FORMAT_REAL_TIME

// MLX5_MODIFY_RQ_IN_MODIFY_BITMASK_… of Linux's include/linux/mlx5/mlx5_ifc.h.
constexpr std::uint64_t change_vlan_stripping = 1U << 1;
constexpr std::uint64_t change_counters = 1U << 3;

void refuse_what_is_not_modelled(std::span<const std::byte> context)
{
    refuse_missing(context, {{rqc::rlky, "a reserved key in receive queues of packets"},
                             {rqc::delay_drop_en, "packets that wait for a receive"},
                             {rqc::scatter_fcs, "checksums of frames"},
                             {rqc::mem_rq_type, "receive queues of packets in another's memory"},
                             {rqc::flush_in_error_en, "flushing of receive queues of packets"},
                             {rqc::hairpin, "hairpins"}});
    if (get(context, rqc::ts_format) == real_time)
        throw Refusal{Status::bad_param, "time stamps are free-running here"};
    if (get(context, rqc::state) != static_cast<std::uint64_t>(State::reset))
        throw Refusal{Status::bad_param, "a receive queue begins reset"};
}

Use<QueueCounters> counters_of(const Objects& objects, std::span<const std::byte> context, std::uint16_t uid)
{
    const std::uint32_t set = number_of(context, rqc::counter_set_id);
    return set == 0 ? Use<QueueCounters>{} : objects.use<QueueCounters>(set, uid, Of::uid_or_kernel);
}

} // namespace

ReceiveQueueCommands::ReceiveQueueCommands(const queues::CommandParts& parts) : context_{parts.context}
{
    context_.objects.limit(Kind::rq, first_number, 1U << context_.settings.log_max_packet_queues);
}

void ReceiveQueueCommands::add_to(Commands& commands)
{
    namespace l = layouts;
    commands.add({0x908, "CREATE_RQ", l::create_rq_in::bytes, l::create_rq_out::bytes,
                  [this](const Command& command) { create(command); }});
    commands.add({0x909, "MODIFY_RQ", l::modify_rq_in::ctx.offset + std::size_t{rqc::wq.offset}, 16,
                  [this](const Command& command) { modify(command); }});
    commands.add({0x90a, "DESTROY_RQ", l::destroy_rq_in::bytes, 16, [this](const Command& command) {
                      context_.objects.destroy(Kind::rq, number_of(command.in, l::destroy_rq_in::rqn), command.uid);
                  }});
    commands.add({0x90b, "QUERY_RQ", l::query_rq_in::bytes, l::query_rq_out::bytes,
                  [this](const Command& command) { query(command); }});
}

void ReceiveQueueCommands::create(const Command& command)
{
    static constexpr std::size_t queue_at = layouts::create_rq_in::ctx.offset + std::size_t{rqc::wq.offset};
    Objects& objects = context_.objects;
    const auto context = part(command.in, layouts::create_rq_in::ctx);
    refuse_what_is_not_modelled(context);
    const WorkQueueShape shape = checked_ring(command.in, queue_at, least_log_stride, most_log_stride, context_);
    // Nobody reads it as long as no packet comes; that it is there is checked all the same.
    queues::RingMemory memory =
        queues::find_memory(objects, command.uid,
                            queues::place_of_work_queue(command.in, queue_at,
                                                        std::uint64_t{1} << (shape.log_entries + shape.log_stride)));
    ReceiveQueue::Uses uses;
    uses.umems = std::move(memory.umems);
    // mlx5e makes one without a domain, for packets that are to be dropped (en_main.c, mlx5e_build_drop_rq_param).
    if (const std::uint32_t pd = number_of(part(context, rqc::wq), wq::pd); pd != 0)
        uses.pd = objects.use<ProtectionDomain>(pd, command.uid);
    uses.cq = objects.use<queues::CompletionQueueObject>(number_of(context, rqc::cqn), command.uid);
    uses.counters = counters_of(objects, context, command.uid);
    const std::uint32_t number = objects.vacant(Kind::rq);
    objects.add(std::make_shared<ReceiveQueue>(
        number, command.uid, Given(context.begin(), context.begin() + rqc::bytes), std::move(uses)));
    set(command.out, layouts::create_rq_out::rqn, number);
}

void ReceiveQueueCommands::modify(const Command& command)
{
    namespace in = layouts::modify_rq_in;
    const auto object = context_.objects.find<ReceiveQueue>(number_of(command.in, in::rqn), command.uid);
    const auto context = part(command.in, in::ctx);
    const std::uint64_t changes = get(command.in, in::modify_bitmask);
    if ((changes & ~(change_vlan_stripping | change_counters)) != 0)
        throw Refusal{Status::bad_param, "what is to be changed of a receive queue is not known"};
    const State to = checked_transition(object->state, get(command.in, in::rq_state), get(context, rqc::state));
    if ((changes & change_counters) != 0) {
        object->count_in(counters_of(context_.objects, context, command.uid));
        set(object->given, rqc::counter_set_id, get(context, rqc::counter_set_id));
    }
    if ((changes & change_vlan_stripping) != 0)
        set(object->given, rqc::vsd, get(context, rqc::vsd));
    object->state = to;
}

void ReceiveQueueCommands::query(const Command& command) const
{
    const auto object =
        context_.objects.find<ReceiveQueue>(number_of(command.in, layouts::query_rq_in::rqn), command.uid);
    const auto context = part(command.out, layouts::query_rq_out::rq_context);
    std::ranges::copy(object->given, context.begin());
    set(context, rqc::state, static_cast<std::uint64_t>(object->state));
}

} // namespace mrz::ethernet
