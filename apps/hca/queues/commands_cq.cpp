// SPDX-License-Identifier: BSD-3-Clause
#include "layouts/cqc.hpp"
#include "queues/commands.hpp"
#include "queues/objects.hpp"
#include "queues/ring_memory.hpp"

#include <chrono>
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
namespace cqc = layouts::cqc;

using Bytes = std::span<const std::byte>;

// Of MODIFY_CQ: MLX5_CQ_MODIFY_… and MLX5_CQ_OPMOD_RESIZE of Linux's include/linux/mlx5/cq.h, and
// MLX5_MODIFY_CQ_MASK_… of mlx5_ifc.h.
constexpr std::uint64_t modify_period = 1;
constexpr std::uint64_t modify_count = 2;
constexpr std::uint64_t modify_overrun = 4;
constexpr std::uint16_t op_mod_resize = 1;
constexpr std::uint64_t resize_log_size = 1;
constexpr std::uint64_t resize_everything = 7; // size, page offset, page size

CompletionMemory shape_of(Bytes context, const CommandParts& parts)
{
    CompletionMemory memory;
    memory.log_size = static_cast<unsigned>(get(context, cqc::log_cq_size));
    if (std::uint64_t{1} << memory.log_size > parts.context.engine.options().max_completions)
        throw Refusal{Status::bad_param, "a completion queue of 2^" + std::to_string(memory.log_size) + " entries"};
    // MLX5_CQE_SIZE_64, _128
    const std::uint64_t entry = get(context, cqc::cqe_sz);
    if (entry > 1)
        throw Refusal{Status::bad_param, "there are completions of 64 and of 128 bytes"};
    memory.log_entry = 6 + static_cast<unsigned>(entry);
    return memory;
}

RingPlace place_of(const CompletionMemory& memory, Bytes in, Bytes context)
{
    namespace create = layouts::create_cq_in; // MODIFY_CQ has them in the same places
    RingPlace place;
    place.bytes = std::uint64_t{1} << (memory.log_size + memory.log_entry);
    place.pas = part(in, create::pas);
    place.log_page_size = static_cast<unsigned>(get(context, cqc::log_page_size));
    place.page_offset = get(context, cqc::page_offset);
    place.umem = is_set(in, create::cq_umem_valid);
    place.umem_id = static_cast<std::uint32_t>(get(in, create::cq_umem_id));
    place.umem_offset = get(in, create::cq_umem_offset);
    place.record = get(context, cqc::dbr_addr);
    place.record_umem = is_set(context, cqc::dbr_umem_valid);
    place.record_umem_id = static_cast<std::uint32_t>(get(context, cqc::dbr_umem_id));
    return place;
}

Moderation moderation_of(Bytes context)
{
    return {static_cast<std::uint16_t>(get(context, cqc::cq_max_count)),
            std::chrono::microseconds{get(context, cqc::cq_period)}};
}

void refuse_what_is_not_modelled(Bytes context)
{
    for (const auto& [field, what] : {std::pair{cqc::apu_cq, "other processors"},
                                      {cqc::cc, "collapsed entries"},
                                      {cqc::cqe_comp_en, "compressed entries"},
                                      {cqc::cq_period_mode, "a period that begins anew with each entry"}}) {
        if (is_set(context, field))
            throw Refusal{Status::bad_param, std::string{"completion queues of this device have no "} + what};
    }
}

} // namespace

CompletionQueueCommands::CompletionQueueCommands(const CommandParts& parts) : parts_{parts}
{
    parts_.context.objects.limit(Kind::cq, 1, parts_.context.engine.options().max_cqs);
}

void CompletionQueueCommands::add_to(Commands& commands)
{
    namespace l = layouts;
    commands.add({0x400, "CREATE_CQ", l::create_cq_in::bytes, l::create_cq_out::bytes,
                  [this](const Command& command) { create(command); }});
    commands.add({0x401, "DESTROY_CQ", l::destroy_cq_in::bytes, 16, [this](const Command& command) {
                      parts_.context.objects.destroy(
                          Kind::cq, static_cast<std::uint32_t>(get(command.in, l::destroy_cq_in::cqn)), command.uid);
                  }});
    commands.add({0x402, "QUERY_CQ", l::query_cq_in::bytes, l::query_cq_out::bytes,
                  [this](const Command& command) { query(command); }});
    commands.add({0x403, "MODIFY_CQ", l::modify_cq_in::cq_context.offset + cqc::bytes, 16,
                  [this](const Command& command) { modify(command); }});
}

void CompletionQueueCommands::create(const Command& command)
{
    Objects& objects = parts_.context.objects;
    const Bytes context = part(command.in, layouts::create_cq_in::cq_context);
    refuse_what_is_not_modelled(context);
    objects.require_room(Kind::cq);
    auto eq = objects.use<EventQueueObject>(static_cast<std::uint32_t>(get(context, cqc::c_eqn_or_apu_element)),
                                            command.uid, Of::uid_or_kernel);

    CompletionRingOptions options;
    options.memory = shape_of(context, parts_);
    RingMemory memory = find_memory(objects, command.uid, place_of(options.memory, command.in, context));
    options.memory.pages = std::move(memory.pages);
    options.record = memory.record;
    options.uar = static_cast<std::uint32_t>(get(context, cqc::uar_page));
    options.eq = eq->shared();
    options.kernels = command.uid == 0;
    options.ignore_overrun = is_set(context, cqc::oi);
    options.moderation = moderation_of(context);
    auto uar = objects.use<Uar>(options.uar, command.uid, Of::uid_or_kernel);

    const std::uint32_t cqn = parts_.path.create_cq(std::move(options));
    try {
        objects.add(std::make_shared<CompletionQueueObject>(parts_.path, cqn, command.uid, std::move(eq),
                                                            std::move(uar), std::move(memory.umems)));
    } catch (...) {
        parts_.path.destroy_cq(cqn);
        throw;
    }
    set(command.out, layouts::create_cq_out::cqn, cqn);
}

void CompletionQueueCommands::modify(const Command& command)
{
    namespace in = layouts::modify_cq_in;
    const auto cqn = static_cast<std::uint32_t>(get(command.in, in::cqn));
    static_cast<void>(parts_.context.objects.find<CompletionQueueObject>(cqn, command.uid));
    if (command.op_mod == op_mod_resize) {
        resize(command, cqn);
        return;
    }
    if (command.op_mod != 0)
        throw Refusal{Status::bad_param, "there is no such way to change a completion queue"};
    const std::uint64_t wanted = get(part(command.in, in::modify_field_select_resize_field_select), {0, 32});
    if ((wanted & ~(modify_period | modify_count | modify_overrun)) != 0)
        throw Refusal{Status::bad_param,
                      "what is to be changed of a completion queue is not known: " + format_hex(wanted)};
    const Bytes context = part(command.in, in::cq_context);
    parts_.path.with_cq(cqn, [&](CompletionRing& ring) {
        Moderation moderation = ring.options().moderation;
        if ((wanted & modify_period) != 0)
            moderation.period = moderation_of(context).period;
        if ((wanted & modify_count) != 0)
            moderation.count = moderation_of(context).count;
        ring.set_moderation(moderation);
        if ((wanted & modify_overrun) != 0)
            ring.set_ignore_overrun(is_set(context, cqc::oi));
    });
}

void CompletionQueueCommands::resize(const Command& command, std::uint32_t cqn)
{
    namespace in = layouts::modify_cq_in;
    Objects& objects = parts_.context.objects;
    const std::uint64_t wanted = get(part(command.in, in::modify_field_select_resize_field_select), {0, 32});
    if ((wanted & ~resize_everything) != 0 || (wanted & resize_log_size) == 0)
        throw Refusal{Status::bad_param, "a completion queue changes its size, and with it its pages"};
    const Bytes context = part(command.in, in::cq_context);
    CompletionMemory shape = shape_of(context, parts_);
    RingMemory memory = find_ring(objects, command.uid, place_of(shape, command.in, context));
    shape.pages = std::move(memory.pages);
    bool done = false;
    parts_.path.with_cq(cqn, [&](CompletionRing& ring) { done = ring.resize(std::move(shape)); });
    if (!done)
        throw Refusal{Status::bad_res_state, "the completion queue is full, or has failed"};
    objects.find<CompletionQueueObject>(cqn, command.uid)->set_umems(std::move(memory.umems));
}

void CompletionQueueCommands::query(const Command& command) const
{
    const auto cqn = static_cast<std::uint32_t>(get(command.in, layouts::query_cq_in::cqn));
    static_cast<void>(parts_.context.objects.find<CompletionQueueObject>(cqn, command.uid));
    const auto context = part(command.out, layouts::query_cq_out::cq_context);
    parts_.path.with_cq(cqn, [&](CompletionRing& ring) {
        const CompletionRingOptions& options = ring.options();
        static constexpr std::uint64_t overflow = 0x9;  // MLX5_CQC_STATUS_CQ_OVERFLOW of mlx5_ifc.h
        static constexpr std::uint64_t solicited = 0x6; // MLX5_CQC_ST_…
        static constexpr std::uint64_t armed = 0x9;
        static constexpr std::uint64_t fired = 0xa;
        set(context, cqc::status, ring.in_error() ? overflow : 0);
        set(context, cqc::st,
            ring.armed() == hca::Notify::none   ? fired
            : ring.armed() == hca::Notify::next ? armed
                                                : solicited);
        set(context, cqc::cqe_sz, options.memory.log_entry - 6);
        set(context, cqc::oi, options.ignore_overrun);
        set(context, cqc::log_cq_size, options.memory.log_size);
        set(context, cqc::uar_page, options.uar);
        set(context, cqc::cq_period, static_cast<std::uint64_t>(options.moderation.period.count()));
        set(context, cqc::cq_max_count, options.moderation.count);
        set(context, cqc::c_eqn_or_apu_element, options.eq->number());
        set(context, cqc::consumer_counter, ring.consumer_index());
        set(context, cqc::producer_counter, ring.producer_index());
        set(context, cqc::dbr_addr, options.record.value());
    });
}

} // namespace mrz::queues
