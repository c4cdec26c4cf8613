// SPDX-License-Identifier: BSD-3-Clause
#include "firmware/queue_counters.hpp"

#include "layouts/domains.hpp"

#include <memory>

namespace mrz::firmware {

namespace {

namespace out = layouts::query_q_counter_out;
using layouts::get;
using layouts::set;

void query(const Command& command, const Context& context)
{
    namespace in = layouts::query_q_counter_in;
    const auto set_of = context.objects.find<QueueCounters>(
        static_cast<std::uint32_t>(get(command.in, in::counter_set_id)), command.uid, Of::uid_or_kernel);
    const hca::HcaCounters now = context.engine.counters();
    const hca::HcaCounters& start = set_of->start;
    const auto failures = [&](hca::WcStatus status) {
        const auto index = static_cast<std::size_t>(status);
        return now.failures.at(index) - start.failures.at(index);
    };
    set(command.out, out::out_of_buffer, now.receiver_not_ready - start.receiver_not_ready);
    set(command.out, out::rnr_nak_retry_err, failures(hca::WcStatus::rnr_retry_exceeded_error));
    set(command.out, out::req_remote_invalid_request, failures(hca::WcStatus::remote_invalid_request_error));
    set(command.out, out::req_remote_access_errors, failures(hca::WcStatus::remote_access_error));
    set(command.out, out::req_cqe_flush_error, failures(hca::WcStatus::flush_error));
    if (layouts::is_set(command.in, in::clear))
        set_of->start = now;
}

} // namespace

void add_queue_counters(Commands& commands, const Context& context)
{
    Objects& objects = context.objects;
    objects.limit(Kind::q_counter, 1, 255);
    commands.add({0x771, "ALLOC_Q_COUNTER", 16, 16, [context](const Command& command) {
                      const std::uint32_t number = context.objects.vacant(Kind::q_counter);
                      context.objects.add(
                          std::make_shared<QueueCounters>(number, command.uid, context.engine.counters()));
                      set(command.out, layouts::alloc_q_counter_out::counter_set_id, number);
                  }});
    commands.add({0x772, "DEALLOC_Q_COUNTER", 16, 16, [&objects](const Command& command) {
                      objects.destroy(
                          Kind::q_counter,
                          static_cast<std::uint32_t>(get(command.in, layouts::dealloc_q_counter_in::counter_set_id)),
                          command.uid);
                  }});
    commands.add({0x773, "QUERY_Q_COUNTER", layouts::query_q_counter_in::bytes, out::bytes,
                  [context](const Command& command) { query(command, context); }});
}

} // namespace mrz::firmware
