// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! From the engine's completions to the guest's.
#include "queues/completions.hpp"
#include "queues/data_path.hpp"

#include <mrzone/base.hpp>

#include <array>
#include <span>

namespace mrz::queues {

void DataPath::drain(std::uint32_t cqn)
{
    const auto found = cqs_.find(cqn);
    if (found == cqs_.end())
        return;
    const std::shared_ptr<hca::CompletionQueue> queue = found->second.engine;
    // Armed first: what comes after the last look is told.
    queue->arm(hca::Notify::next);
    std::array<hca::Completion, 64> completions;
    for (;;) {
        const std::size_t count = queue->poll(completions);
        if (count == 0)
            return;
        for (const hca::Completion& completion : std::span{completions}.first(count))
            deliver(completion);
    }
}

void DataPath::deliver(const hca::Completion& completion)
{
    const auto found = qps_.find(completion.qpn);
    if (found == qps_.end())
        return; // destroyed meanwhile
    QueuePair& pair = *found->second;
    if (completion.status != hca::WcStatus::success) {
        again_.insert(completion.qpn); // what is left of its entries fails, too
        if (pair.state() == hca::QpState::err)
            watch(completion.qpn);
    }
    if (completion.opcode < hca::WcOpcode::receive) {
        sent(pair, completion);
        return;
    }
    const bool failed = completion.status != hca::WcStatus::success;
    write(pair, pair.options.receive_cq,
          received({completion.qpn, pair.options.user_index, static_cast<std::uint16_t>(completion.id)}, completion,
                   parts_.ethernet),
          completion.solicited || failed);
}

void DataPath::sent(QueuePair& pair, const hca::Completion& completion)
{
    // Every work that the engine is given ends in a completion, in order.
    if (pair.sent.empty() || pair.sent.front().id != completion.id)
        return;
    const QueuePair::Sent work = pair.sent.front();
    pair.sent.pop_front();
    if (pair.waits_for_sent) {
        pair.waits_for_sent = false;
        again_.insert(completion.qpn);
    }
    const Completed completed{completion.qpn, pair.options.user_index, work.entry};
    if (completion.status != hca::WcStatus::success)
        write(pair, pair.options.send_cq, send_failed(completed, work.opcode, syndrome_of(completion.status)), true);
    else if (work.signaled)
        write(pair, pair.options.send_cq, send_done(completed, work.opcode, completion.byte_length), false);
}

void DataPath::write(QueuePair& pair, std::uint32_t cqn, const Cqe& entry, bool solicited)
{
    if (faults_.concern(cqn, cq(cqn).ring->options().kernels))
        faults_.take({cqn, pair.engine->number(), entry, solicited}, parts_.now());
    else
        store(pair, cqn, entry, solicited);
}

void DataPath::write_late(Clock::time_point now)
{
    while (const auto late = faults_.next(now))
        store(qp(late->qpn), late->cqn, late->entry, late->solicited);
}

bool DataPath::store(std::uint32_t cqn, const Cqe& entry, bool solicited)
{
    CompletionRing& ring = *cq(cqn).ring;
    const CompletionRing::Written written = ring.write(entry, solicited, parts_.now());
    if (ring.deadline())
        held_back_.insert(cqn);
    if (written == CompletionRing::Written::overrun_now) {
        log(Severity::warning, "completion queue " + std::to_string(cqn) + " is full, or its memory is gone");
        report_cq_error(cqn);
    }
    return written == CompletionRing::Written::stored;
}

void DataPath::store(QueuePair& pair, std::uint32_t cqn, const Cqe& entry, bool solicited)
{
    // A queue pair whose completions are lost cannot go on.
    if (!store(cqn, entry, solicited) && pair.state() != hca::QpState::err) {
        report({hca::EventType::qp_fatal, pair.engine->number()});
        fail(pair);
    }
}

} // namespace mrz::queues
