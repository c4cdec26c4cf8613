// SPDX-License-Identifier: BSD-3-Clause
#include "layouts/eqc.hpp"
#include "queues/commands.hpp"
#include "queues/objects.hpp"
#include "queues/ring_memory.hpp"

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

// A doorbell has 8 bits for the number.
constexpr std::uint32_t first_number = 1;

} // namespace

EventQueueCommands::EventQueueCommands(const CommandParts& parts) : parts_{parts}
{
    parts_.context.objects.limit(Kind::eq, first_number, (1U << parts_.context.settings.log_max_eq) - first_number);
}

void EventQueueCommands::add_to(Commands& commands)
{
    namespace l = layouts;
    commands.add({0x301, "CREATE_EQ", l::create_eq_in::bytes, l::create_eq_out::bytes,
                  [this](const Command& command) { create(command); }});
    commands.add({0x302, "DESTROY_EQ", l::destroy_eq_in::bytes, 16, [this](const Command& command) {
                      parts_.context.objects.destroy(
                          Kind::eq, static_cast<std::uint32_t>(get(command.in, l::destroy_eq_in::eq_number)),
                          command.uid);
                  }});
    commands.add({0x303, "QUERY_EQ", l::query_eq_in::bytes, l::query_eq_out::bytes,
                  [this](const Command& command) { query(command); }});
}

void EventQueueCommands::create(const Command& command)
{
    namespace eqc = layouts::eqc;
    namespace in = layouts::create_eq_in;
    Objects& objects = parts_.context.objects;
    const auto context = part(command.in, in::eq_context_entry);
    EventQueueOptions options;
    options.log_size = static_cast<unsigned>(get(context, eqc::log_eq_size));
    options.vector = static_cast<unsigned>(get(context, eqc::intr));
    options.uar = static_cast<std::uint32_t>(get(context, eqc::uar_page));
    if (options.log_size > parts_.context.settings.log_max_eq_entries)
        throw Refusal{Status::bad_param, "an event queue of 2^" + std::to_string(options.log_size) + " entries"};
    if (options.vector >= parts_.context.settings.vectors)
        throw Refusal{Status::bad_param, "there is no interrupt vector " + std::to_string(options.vector)};
    if (is_set(context, eqc::oi))
        throw Refusal{Status::bad_param, "an event queue does not ignore that it is full"};
    const auto mask = part(command.in, in::event_bitmask);
    for (std::size_t i = 0; i < options.events.size(); ++i)
        options.events[i] = get(mask.subspan(8 * i, 8), {0, 64});

    RingPlace place;
    place.bytes = layouts::eqe::bytes << options.log_size;
    place.pas = part(command.in, in::pas);
    place.log_page_size = static_cast<unsigned>(get(context, eqc::log_page_size));
    place.page_offset = get(context, eqc::page_offset);
    options.pages = find_ring(objects, command.uid, place).pages;

    auto uar = objects.use<Uar>(options.uar, command.uid, Of::uid_or_kernel);
    options.number = objects.vacant(Kind::eq);
    const std::uint32_t number = options.number;
    auto queue = std::make_shared<EventQueue>(parts_.context.bus, parts_.interrupts, std::move(options));
    objects.add(std::make_shared<EventQueueObject>(parts_.event_queues, queue, command.uid, std::move(uar)));
    parts_.event_queues.add(std::move(queue));
    set(command.out, layouts::create_eq_out::eq_number, number);
}

void EventQueueCommands::query(const Command& command) const
{
    namespace eqc = layouts::eqc;
    const auto object = parts_.context.objects.find<EventQueueObject>(
        static_cast<std::uint32_t>(get(command.in, layouts::query_eq_in::eq_number)), command.uid, Of::uid_or_kernel);
    const EventQueueOptions& options = object->queue().options();
    const EventQueue::State state = object->queue().state();
    const auto context = part(command.out, layouts::query_eq_out::eq_context_entry);
    static constexpr std::uint64_t armed = 0x9; // as a completion queue's: MLX5_CQ_STATE_ARMED, _FIRED
    static constexpr std::uint64_t fired = 0xa;
    set(context, eqc::st, state.armed ? armed : fired);
    set(context, eqc::log_eq_size, options.log_size);
    set(context, eqc::uar_page, options.uar);
    set(context, eqc::intr, options.vector);
    set(context, eqc::consumer_counter, state.consumer_index);
    set(context, eqc::producer_counter, state.producer_index);
    set(command.out, layouts::query_eq_out::event_bitmask, options.events[0]);
}

} // namespace mrz::queues
