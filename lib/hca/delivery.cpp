// SPDX-License-Identifier: BSD-3-Clause
#include "delivery.hpp"

namespace mrz::hca {

void Delivery::complete_send(QueuePair& qp, const Completion& completion, Aftermath& after) const
{
    push(qp, qp.options_.send_cq, completion, false, &qp.send_queue_, qp.send_queue_.take_unreported(), after);
}

void Delivery::complete_receive(QueuePair& qp, const Completion& completion, bool solicited, Aftermath& after) const
{
    push(qp, qp.options_.receive_cq, completion, solicited, nullptr, 0, after);
}

void Delivery::fail(QueuePair& qp, std::optional<EventType> event, Aftermath& after)
{
    if (!qp.fail(QpState::err))
        return;
    after.failed.push_back(qp.number());
    if (event)
        after.events.push_back({*event, qp.number()});
}

void Delivery::push(QueuePair& qp, const std::shared_ptr<CompletionQueue>& cq, const Completion& completion,
                    bool solicited, SendQueue* queue, std::uint32_t slots, Aftermath& after) const
{
    if (completion.status != WcStatus::success)
        count(counters_.failures[static_cast<std::size_t>(completion.status)]);
    const CompletionQueue::PushResult result = cq->push(completion, solicited, queue, slots);
    if (result.notify)
        after.notify.push_back(cq);
    if (result.pushed == CompletionQueue::Pushed::overrun_now)
        after.events.push_back({EventType::cq_error, cq->number()});
    // A queue pair whose completions are lost cannot go on.
    if (result.pushed != CompletionQueue::Pushed::stored)
        fail(qp, EventType::qp_fatal, after);
}

} // namespace mrz::hca
