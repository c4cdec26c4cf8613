// SPDX-License-Identifier: BSD-3-Clause
#include "layouts/doorbells.hpp"
#include "layouts/qpc.hpp"
#include "layouts/wqe.hpp"
#include "queues/commands.hpp"
#include "queues/objects.hpp"
#include "queues/qp_context.hpp"
#include "queues/ring_memory.hpp"

#include <mrzone/base.hpp>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

namespace mrz::queues {
namespace {

using namespace firmware;
using layouts::get;
using layouts::is_set;
using layouts::part;
using layouts::set;
using Bytes = std::span<const std::byte>;
namespace qpc = layouts::qpc;

// MLX5_QP_ST_… of Linux's include/linux/mlx5/qp.h.
constexpr std::uint64_t general_services = 0x8; // QP1
QpKind kind_of(std::uint64_t service)
{
    switch (service) {
    case 0x0:
        return QpKind::rc;
    case 0x2:
    case 0x7: // QP0: datagrams of the subnet's management, which nobody gets
    case general_services:
        return QpKind::ud;
    case 0xc:
        return QpKind::umr;
    default:
        throw Refusal{Status::bad_param, "there are no queue pairs of service type " + format_hex(service)};
    }
}

// MLX5_NON_ZERO_RQ, MLX5_SRQ_RQ, MLX5_ZERO_LEN_RQ of the same.
constexpr std::uint64_t own_receives = 0;
constexpr std::uint64_t shared_receives = 1;
constexpr std::uint64_t no_receives = 3;

// The receive queue comes first, then the send queue (mlx5_ib's set_rq_size, calc_sq_size).
struct Shape {
    std::uint64_t receive_bytes = 0;
    std::uint64_t send_bytes = 0;
};

Shape shape_of(Bytes context, const hca::QueueLimits& limits)
{
    static constexpr std::uint64_t least_stride = 4;
    Shape shape;
    const auto check = [&limits](std::uint64_t log_entries) {
        if (std::uint64_t{1} << log_entries > limits.work_requests)
            throw Refusal{Status::bad_param, "a queue of 2^" + std::to_string(log_entries) + " entries"};
    };
    if (get(context, qpc::rq_type) == own_receives) {
        check(get(context, qpc::log_rq_size));
        shape.receive_bytes = std::uint64_t{1}
                              << (get(context, qpc::log_rq_size) + get(context, qpc::log_rq_stride) + least_stride);
    }
    if (!is_set(context, qpc::no_sq)) {
        check(get(context, qpc::log_sq_size));
        shape.send_bytes = layouts::send_wqe_bb << get(context, qpc::log_sq_size);
    }
    return shape;
}

RingPlace place_of(Bytes in, Bytes context, const Shape& shape)
{
    namespace create = layouts::create_qp_in;
    RingPlace place;
    place.bytes = shape.receive_bytes + shape.send_bytes;
    place.pas = part(in, create::pas);
    place.log_page_size = static_cast<unsigned>(get(context, qpc::log_page_size));
    place.page_offset = get(context, qpc::page_offset);
    place.umem = is_set(in, create::wq_umem_valid);
    place.umem_id = static_cast<std::uint32_t>(get(in, create::wq_umem_id));
    place.umem_offset = get(in, create::wq_umem_offset);
    place.record = get(context, qpc::dbr_addr);
    place.record_umem = is_set(context, qpc::dbr_umem_valid);
    place.record_umem_id = static_cast<std::uint32_t>(get(context, qpc::dbr_umem_id));
    return place;
}

void add_rings(QueuePairOptions& options, const RingMemory& memory, Bytes context, const Shape& shape)
{
    static constexpr unsigned log_send_block = 6;
    if (shape.receive_bytes != 0)
        options.receive = WorkRing{memory.pages, 0, static_cast<unsigned>(get(context, qpc::log_rq_size)),
                                   static_cast<unsigned>(get(context, qpc::log_rq_stride)) + 4, memory.record};
    if (shape.send_bytes != 0)
        options.send =
            WorkRing{memory.pages, shape.receive_bytes, static_cast<unsigned>(get(context, qpc::log_sq_size)),
                     log_send_block, memory.record + layouts::qp_record_send};
}

} // namespace

QueuePairCommands::QueuePairCommands(const CommandParts& parts) : parts_{parts}
{
    // 0 and 1 are the port's own, for management.
    parts_.context.objects.limit(Kind::qp, 2, parts_.context.engine.options().max_qps);
}

void QueuePairCommands::add_to(Commands& commands)
{
    namespace l = layouts;
    commands.add({0x500, "CREATE_QP", l::create_qp_in::bytes, l::create_qp_out::bytes,
                  [this](const Command& command) { create(command); }});
    commands.add({0x501, "DESTROY_QP", l::destroy_qp_in::bytes, 16, [this](const Command& command) {
                      parts_.context.objects.destroy(
                          Kind::qp, static_cast<std::uint32_t>(get(command.in, l::destroy_qp_in::qpn)), command.uid);
                  }});
    for (const Transition& transition : transitions())
        commands.add({transition.opcode, transition.name,
                      l::rst2init_qp_in::qpc.offset + l::rst2init_qp_in::qpc.bytes, 16,
                      [this](const Command& command) { modify(command); }});
    commands.add({0x507, "2ERR_QP", l::qp_2err_in::bytes, 16,
                  [this](const Command& command) { leave(command, hca::QpState::err); }});
    commands.add({0x50a, "2RST_QP", l::qp_2rst_in::bytes, 16,
                  [this](const Command& command) { leave(command, hca::QpState::reset); }});
    commands.add({0x50b, "QUERY_QP", l::query_qp_in::bytes, l::query_qp_out::qpc.offset + l::query_qp_out::qpc.bytes,
                  [this](const Command& command) { query(command); }});
}

void QueuePairCommands::create(const Command& command)
{
    Objects& objects = parts_.context.objects;
    const Bytes context = part(command.in, layouts::create_qp_in::qpc);
    objects.require_room(Kind::qp);
    QueuePairOptions options;
    options.kind = kind_of(get(context, qpc::st));
    options.general_services = get(context, qpc::st) == general_services;
    if (options.general_services && command.uid != 0)
        throw Refusal{Status::bad_param, "the port's own queue pair (QP1) is the kernel's"};
    const std::uint64_t receives = get(context, qpc::rq_type);
    if (receives != own_receives && receives != shared_receives && receives != no_receives)
        throw Refusal{Status::bad_param, "there are no receive queues of type " + std::to_string(receives)};
    if (is_set(context, qpc::wq_signature))
        throw Refusal{Status::bad_param, "this device has no signatures of work"};
    const Shape shape = shape_of(context, parts_.context.engine.options().queues);
    const RingPlace place = place_of(command.in, context, shape);
    RingMemory memory = place.bytes == 0 ? RingMemory{} : find_memory(objects, command.uid, place);
    add_rings(options, memory, context, shape);
    options.user_index = static_cast<std::uint32_t>(get(context, qpc::user_index));
    options.privileged = is_set(context, qpc::rlky);
    if (options.privileged && command.uid != 0)
        throw Refusal{Status::bad_param, "the key to all memory is for the kernel's queue pairs"};

    QueuePairObject::Uses uses;
    uses.umems = std::move(memory.umems);
    if (options.kind == QpKind::umr) {
        // It changes keys of all domains, and the driver gives it none (qp.c, create_qp_common of Linux 4.x to 6.x).
        if (command.uid != 0)
            throw Refusal{Status::bad_param, "a queue pair that changes any key is the kernel's"};
    } else {
        uses.pd = objects.use<ProtectionDomain>(static_cast<std::uint32_t>(get(context, qpc::pd)), command.uid);
        options.pd = uses.pd->pd();
    }
    // Who has only one of the queues need not name a completion queue for the other.
    const auto sends_to = static_cast<std::uint32_t>(get(context, qpc::cqn_snd));
    const auto receives_to = static_cast<std::uint32_t>(get(context, qpc::cqn_rcv));
    options.send_cq = sends_to == 0 && !options.send ? receives_to : sends_to;
    options.receive_cq = receives_to == 0 && receives == no_receives ? sends_to : receives_to;
    uses.send_cq = objects.use<CompletionQueueObject>(options.send_cq, command.uid);
    uses.receive_cq = objects.use<CompletionQueueObject>(options.receive_cq, command.uid);
    if (receives == shared_receives) {
        options.srq = static_cast<std::uint32_t>(get(context, qpc::srqn_rmpn_xrqn));
        uses.srq = objects.use<SharedReceiveObject>(*options.srq, command.uid);
        if (uses.srq->sort() != SharedReceiveObject::Sort::rmp)
            throw Refusal{Status::bad_param, "only extended reliable connections take from an XRC queue"};
    }
    if (options.send) {
        options.uar = static_cast<std::uint32_t>(get(context, qpc::uar_page));
        uses.uar = objects.use<Uar>(options.uar, command.uid, Of::uid_or_kernel);
    }

    QueuePairObject::Context kept{};
    std::ranges::copy(context, kept.begin());
    const QpKind kind = options.kind;
    const std::uint32_t qpn = parts_.path.create_qp(std::move(options));
    try {
        objects.add(std::make_shared<QueuePairObject>(parts_.path, qpn, command.uid, kind, kept, std::move(uses)));
    } catch (...) {
        parts_.path.destroy_qp(qpn);
        throw;
    }
    set(command.out, layouts::create_qp_out::qpn, qpn);
}

void QueuePairCommands::modify(const Command& command)
{
    namespace in = layouts::rst2init_qp_in;
    const Transition& transition = *find_transition(command.opcode);
    const auto qpn = static_cast<std::uint32_t>(get(command.in, in::qpn));
    const auto object = parts_.context.objects.find<QueuePairObject>(qpn, command.uid);
    const Bytes context = part(command.in, in::qpc);
    const auto mask = static_cast<std::uint32_t>(get(command.in, in::opt_param_mask));
    check_options(transition, mask);
    if (const hca::QpState state = parts_.path.query_qp(qpn).state; state != transition.from)
        throw Refusal{Status::bad_qp_state, "the queue pair is in " + std::string{to_string(state)}};
    hca::QpAttributes attributes = attributes_of(transition, object->sort(), context, mask);
    if (attributes.destination_qpn) {
        const Route way = parts_.path.route(peer_of(context));
        attributes.link = way.link;
        if (!way.reachable)
            attributes.destination_qpn = 0; // nobody's: what is sent there is tried until its tries are used up
    }
    parts_.path.modify_qp(qpn, transition.to, attributes);
    keep(transition, context, mask, object->context());
}

void QueuePairCommands::leave(const Command& command, hca::QpState to)
{
    const auto qpn = static_cast<std::uint32_t>(get(command.in, layouts::qp_2rst_in::qpn));
    static_cast<void>(parts_.context.objects.find<QueuePairObject>(qpn, command.uid));
    if (to == hca::QpState::err && parts_.path.query_qp(qpn).state == hca::QpState::reset)
        throw Refusal{Status::bad_qp_state, "the queue pair is in RESET"};
    parts_.path.modify_qp(qpn, to, {});
}

void QueuePairCommands::query(const Command& command) const
{
    const auto qpn = static_cast<std::uint32_t>(get(command.in, layouts::query_qp_in::qpn));
    const auto object = parts_.context.objects.find<QueuePairObject>(qpn, command.uid);
    const DataPath::QpInfo info = parts_.path.query_qp(qpn);
    const auto context = part(command.out, layouts::query_qp_out::qpc);
    std::ranges::copy(object->context(), context.begin());
    set(context, qpc::state, state_number(info.state));
    set(context, qpc::hw_sq_wqebb_counter, info.sends_consumed);
    set(context, qpc::hw_rq_counter, info.receives_taken);
}

} // namespace mrz::queues
