// SPDX-License-Identifier: BSD-3-Clause
#include "layouts/rmpc.hpp"
#include "layouts/wqe.hpp"
#include "layouts/xrc_srqc.hpp"
#include "queues/commands.hpp"
#include "queues/objects.hpp"
#include "queues/ring_memory.hpp"

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

namespace rmpc = layouts::rmpc;
namespace wq = layouts::wq;
namespace xrc = layouts::xrc_srqc;

constexpr std::uint64_t rmp_ready = 1;  // MLX5_RMPC_STATE_RDY of mlx5_ifc.h
constexpr std::uint16_t arm_op_mod = 1; // MLX5_ARM_XRC_SRQ_IN_OP_MOD_XRC_SRQ
constexpr unsigned least_log_stride = 4;
constexpr unsigned most_log_stride = 11;
constexpr unsigned most_log_entries = 15; // counters of 16 bits must tell a full ring from an empty one

struct Shape {
    unsigned log_entries;
    unsigned log_stride;

    [[nodiscard]] std::uint64_t bytes() const { return std::uint64_t{1} << (log_entries + log_stride); }
};

Shape checked(std::uint64_t log_entries, std::uint64_t log_stride)
{
    if (log_entries > most_log_entries || log_stride <= least_log_stride || log_stride > most_log_stride)
        throw Refusal{Status::bad_param, "a shared receive queue of 2^" + std::to_string(log_entries) +
                                             " entries of 2^" + std::to_string(log_stride) + " bytes"};
    return {static_cast<unsigned>(log_entries), static_cast<unsigned>(log_stride)};
}

// Takes it back if making the object fails.
template <class Make>
std::uint32_t add_srq(const CommandParts& parts, const ProtectionDomain& pd, const Shape& shape, RingMemory& memory,
                      std::uint64_t limit, const Make& make)
{
    const std::uint32_t number = parts.path.create_srq(
        {pd.pd(), WorkRing{std::move(memory.pages), 0, shape.log_entries, shape.log_stride, memory.record},
         static_cast<std::uint16_t>(limit)});
    try {
        parts.context.objects.add(make(number));
    } catch (...) {
        parts.path.destroy_srq(number);
        throw;
    }
    return number;
}

std::shared_ptr<SharedReceiveObject> find(const CommandParts& parts, std::uint32_t number, std::uint16_t uid,
                                          SharedReceiveObject::Sort sort)
{
    auto object = parts.context.objects.find<SharedReceiveObject>(number, uid);
    if (object->sort() != sort)
        throw Refusal{Status::bad_res, "shared receive queue " + std::to_string(number) + " is of another sort"};
    return object;
}

} // namespace

SharedReceiveCommands::SharedReceiveCommands(const CommandParts& parts) : parts_{parts}
{
    parts_.context.objects.limit(Kind::srq, 1, parts_.context.engine.options().max_srqs);
}

void SharedReceiveCommands::add_to(Commands& commands)
{
    namespace l = layouts;
    const auto destroy = [this](layouts::Field field, SharedReceiveObject::Sort sort) {
        return [this, field, sort](const Command& command) {
            const auto number = static_cast<std::uint32_t>(get(command.in, field));
            static_cast<void>(find(parts_, number, command.uid, sort));
            parts_.context.objects.destroy(Kind::srq, number, command.uid);
        };
    };
    commands.add({0x705, "CREATE_XRC_SRQ", l::create_xrc_srq_in::bytes, l::create_xrc_srq_out::bytes,
                  [this](const Command& command) { create_xrc(command); }});
    commands.add({0x706, "DESTROY_XRC_SRQ", l::destroy_xrc_srq_in::bytes, 16,
                  destroy(l::destroy_xrc_srq_in::xrc_srqn, SharedReceiveObject::Sort::xrc)});
    commands.add({0x707, "QUERY_XRC_SRQ", l::query_xrc_srq_in::bytes,
                  l::query_xrc_srq_out::xrc_srq_context_entry.offset + l::xrc_srqc::bytes,
                  [this](const Command& command) { query_xrc(command); }});
    commands.add(
        {0x708, "ARM_XRC_SRQ", l::arm_xrc_srq_in::bytes, 16, [this](const Command& command) { arm_xrc(command); }});
    commands.add({0x90c, "CREATE_RMP", l::create_rmp_in::bytes, l::create_rmp_out::bytes,
                  [this](const Command& command) { create_rmp(command); }});
    commands.add({0x90d, "MODIFY_RMP", l::modify_rmp_in::ctx.offset + rmpc::wq.offset + 8U, 16,
                  [this](const Command& command) { modify_rmp(command); }});
    commands.add({0x90e, "DESTROY_RMP", l::destroy_rmp_in::bytes, 16,
                  destroy(l::destroy_rmp_in::rmpn, SharedReceiveObject::Sort::rmp)});
    commands.add({0x90f, "QUERY_RMP", l::query_rmp_in::bytes, l::query_rmp_out::bytes,
                  [this](const Command& command) { query_rmp(command); }});
}

// ---- Plain ones ---------------------------------------------------------------------------------------------------

void SharedReceiveCommands::create_rmp(const Command& command)
{
    Objects& objects = parts_.context.objects;
    const Bytes context = part(command.in, layouts::create_rmp_in::ctx);
    const Bytes queue = part(context, rmpc::wq);
    objects.require_room(Kind::srq);
    if (get(context, rmpc::state) != rmp_ready)
        throw Refusal{Status::bad_param, "a receive memory pool begins ready"};
    // MLX5_WQ_TYPE_LINKED_LIST
    if (get(queue, wq::wq_type) != 0 || is_set(context, rmpc::basic_cyclic_rcv_wqe) ||
        is_set(queue, wq::wq_signature))
        throw Refusal{Status::bad_param, "a receive memory pool is a list, without signatures"};
    const Shape shape = checked(get(queue, wq::log_wq_sz), get(queue, wq::log_wq_stride));
    const RingPlace place = place_of_work_queue(
        command.in, layouts::create_rmp_in::ctx.offset + std::size_t{rmpc::wq.offset}, shape.bytes());
    RingMemory memory = find_memory(objects, command.uid, place);
    auto pd = objects.use<ProtectionDomain>(static_cast<std::uint32_t>(get(queue, wq::pd)), command.uid);

    const std::uint32_t number =
        add_srq(parts_, *pd, shape, memory, get(queue, wq::lwm), [&](std::uint32_t given_number) {
            return std::make_shared<SharedReceiveObject>(
                parts_.path, given_number, command.uid, SharedReceiveObject::Sort::rmp,
                SharedReceiveObject::Given(context.begin(), context.begin() + rmpc::bytes), std::move(pd),
                Use<XrcDomain>{}, Use<CompletionQueueObject>{}, std::move(memory.umems));
        });
    set(command.out, layouts::create_rmp_out::rmpn, number);
}

void SharedReceiveCommands::modify_rmp(const Command& command)
{
    namespace in = layouts::modify_rmp_in;
    const auto number = static_cast<std::uint32_t>(get(command.in, in::rmpn));
    static_cast<void>(find(parts_, number, command.uid, SharedReceiveObject::Sort::rmp));
    const Bytes context = part(command.in, in::ctx);
    if (get(command.in, in::rmp_state) != rmp_ready || get(context, rmpc::state) != rmp_ready)
        throw Refusal{Status::bad_res_state, "a receive memory pool is ready, and stays so"};
    if (is_set(part(command.in, in::bitmask), layouts::rmp_bitmask::lwm))
        parts_.path.arm_srq(number, static_cast<std::uint16_t>(get(part(context, rmpc::wq), wq::lwm)));
}

void SharedReceiveCommands::query_rmp(const Command& command) const
{
    const auto number = static_cast<std::uint32_t>(get(command.in, layouts::query_rmp_in::rmpn));
    const auto object = find(parts_, number, command.uid, SharedReceiveObject::Sort::rmp);
    const auto ring = parts_.path.srq_ring(number);
    const auto context = part(command.out, layouts::query_rmp_out::rmp_context);
    std::ranges::copy(object->given(), context.begin());
    const auto queue = part(context, rmpc::wq);
    set(queue, wq::lwm, ring->limit());
    set(queue, wq::hw_counter, ring->taken());
    set(queue, wq::sw_counter, ring->taken() + ring->left());
}

// ---- Those of extended reliable connections -----------------------------------------------------------------------

void SharedReceiveCommands::create_xrc(const Command& command)
{
    namespace in = layouts::create_xrc_srq_in;
    Objects& objects = parts_.context.objects;
    const Bytes context = part(command.in, in::xrc_srq_context_entry);
    objects.require_room(Kind::srq);
    if (is_set(context, xrc::wq_signature) || is_set(context, xrc::basic_cyclic_rcv_wqe) ||
        is_set(context, xrc::dbr_umem_valid) || is_set(command.in, in::xrc_srq_umem_valid))
        throw Refusal{Status::bad_param,
                      "an XRC shared receive queue is a list, without signatures, and not in a umem"};
    const Shape shape = checked(get(context, xrc::log_xrc_srq_size), get(context, xrc::log_rq_stride) + 4);
    RingPlace place;
    place.bytes = shape.bytes();
    place.pas = part(command.in, in::pas);
    place.log_page_size = static_cast<unsigned>(get(context, xrc::log_page_size));
    place.page_offset = get(context, xrc::page_offset);
    place.record = get(context, {xrc::db_record_addr_h.offset, 64});
    RingMemory memory = find_memory(objects, command.uid, place);
    auto pd = objects.use<ProtectionDomain>(static_cast<std::uint32_t>(get(context, xrc::pd)), command.uid);
    auto xrcd =
        objects.use<XrcDomain>(static_cast<std::uint32_t>(get(context, xrc::xrcd)), command.uid, Of::uid_or_kernel);
    auto cq = objects.use<CompletionQueueObject>(static_cast<std::uint32_t>(get(context, xrc::cqn)), command.uid,
                                                 Of::uid_or_kernel);

    const std::uint32_t number =
        add_srq(parts_, *pd, shape, memory, get(context, xrc::lwm), [&](std::uint32_t given_number) {
            return std::make_shared<SharedReceiveObject>(
                parts_.path, given_number, command.uid, SharedReceiveObject::Sort::xrc,
                SharedReceiveObject::Given(context.begin(), context.begin() + xrc::bytes), std::move(pd),
                std::move(xrcd), std::move(cq), std::move(memory.umems));
        });
    set(command.out, layouts::create_xrc_srq_out::xrc_srqn, number);
}

void SharedReceiveCommands::arm_xrc(const Command& command)
{
    namespace in = layouts::arm_xrc_srq_in;
    const auto number = static_cast<std::uint32_t>(get(command.in, in::xrc_srqn));
    static_cast<void>(find(parts_, number, command.uid, SharedReceiveObject::Sort::xrc));
    if (command.op_mod != arm_op_mod)
        throw Refusal{Status::bad_param, "only a shared receive queue's limit is armed so"};
    parts_.path.arm_srq(number, static_cast<std::uint16_t>(get(command.in, in::lwm)));
}

void SharedReceiveCommands::query_xrc(const Command& command) const
{
    const auto number = static_cast<std::uint32_t>(get(command.in, layouts::query_xrc_srq_in::xrc_srqn));
    const auto object = find(parts_, number, command.uid, SharedReceiveObject::Sort::xrc);
    const auto ring = parts_.path.srq_ring(number);
    const auto context = part(command.out, layouts::query_xrc_srq_out::xrc_srq_context_entry);
    std::ranges::copy(object->given(), context.begin());
    set(context, xrc::lwm, ring->limit());
    set(context, xrc::wqe_cnt, ring->left());
}

} // namespace mrz::queues
