// SPDX-License-Identifier: BSD-3-Clause
#include "traffic.hpp"

#include <mutex>
#include <shared_mutex>
#include <utility>
#include <vector>

namespace mrz::hca {
namespace {

constexpr std::uint8_t retry_for_ever = 7; // rnr_retry
constexpr std::uint32_t most_flushed = 1U << 16;

} // namespace

void Traffic::run(QueuePair& qp, bool woken, Aftermath& after)
{
    if (qp.attributes_.link) {
        send(qp, after);
        return;
    }
    while (!qp.send_queue_.empty()) {
        const QpState state = qp.state();
        if (state == QpState::err || state == QpState::sqe) {
            flush_sends(qp, after);
            return;
        }
        if (state != QpState::rts)
            return;
        if (qp.send_queue_.front().request.link) {
            if (!send_datagram(qp, after))
                return;
            continue;
        }
        const bool waits = qp.stall_.waiting != QueuePair::Waiting::no;
        if (waits && !woken && options_.now() < qp.stall_.until)
            return;
        Requester::Outcome outcome = requester_.execute(qp, qp.send_queue_.front(), after);
        if (outcome.waiting != QueuePair::Waiting::no) {
            switch (wait(qp, outcome)) {
            case Patience::begins:
                // What it lacked may have come before it was on the waiting list, and then nobody has woken it.
                woken = true;
                continue;
            case Patience::goes_on:
                return;
            case Patience::ends:
                outcome.status = outcome.waiting == QueuePair::Waiting::for_receive
                                     ? WcStatus::rnr_retry_exceeded_error
                                     : WcStatus::retry_exceeded_error;
                break;
            }
        }
        stop_waiting(qp);
        complete(qp, outcome.status, outcome.bytes, after);
    }
}

Traffic::Patience Traffic::wait(QueuePair& qp, const Requester::Outcome& outcome)
{
    const bool for_receive = outcome.waiting == QueuePair::Waiting::for_receive;
    const auto timeout = answer_timeout(*qp.attributes_.timeout);
    const bool endless = for_receive ? *qp.attributes_.rnr_retry == retry_for_ever : !timeout;
    const QueuePair::Clock::time_point now = options_.now();
    const auto next = [&] {
        if (for_receive)
            return now + rnr_delay(outcome.rnr_timer);
        return timeout ? now + *timeout : QueuePair::Clock::time_point::max();
    };
    QueuePair::Stall& stall = qp.stall_;
    if (stall.waiting != outcome.waiting) {
        // A refusal for lack of a receive is an answer: without retries it is the end. Silence is known as such only
        // when the timeout is over.
        const unsigned tries = for_receive ? *qp.attributes_.rnr_retry : *qp.attributes_.retry_count + 1U;
        if (for_receive)
            count(counters_.receiver_not_ready);
        if (tries == 0)
            return Patience::ends;
        stall = {outcome.waiting, next(), tries};
        waiting_.set(qp.number(), stall.until);
        return Patience::begins;
    }
    if (now < stall.until)
        return Patience::goes_on;
    if (for_receive)
        count(counters_.receiver_not_ready);
    if (!endless && --stall.tries_left == 0)
        return Patience::ends;
    stall.until = next();
    waiting_.set(qp.number(), stall.until);
    return Patience::goes_on;
}

void Traffic::stop_waiting(QueuePair& qp)
{
    if (std::exchange(qp.stall_, {}).waiting != QueuePair::Waiting::no)
        (qp.attributes_.link ? link_waiting_ : waiting_).remove(qp.number());
}

void Traffic::complete(QueuePair& qp, WcStatus status, std::uint64_t bytes, Aftermath& after)
{
    const SendWorkRequest& request = qp.send_queue_.front().request;
    Completion completion;
    completion.id = request.id;
    completion.status = status;
    completion.opcode = completion_opcode(request.opcode);
    completion.byte_length = static_cast<std::uint32_t>(bytes);
    completion.qpn = qp.number();
    const bool silent =
        status == WcStatus::success && !has(request.flags, SendFlags::signaled) && !qp.options_.signal_all;
    if (status == WcStatus::success) {
        count(counters_.operations[static_cast<std::size_t>(request.opcode)]);
        count(counters_.bytes, bytes);
    } else if (qp.type() == QpType::ud) {
        qp.fail(QpState::sqe); // a datagram's failure does not concern what is received
    } else {
        Delivery::fail(qp, std::nullopt, after);
    }
    qp.send_queue_.pop();
    if (!silent)
        delivery_.complete_send(qp, completion, after);
}

void Traffic::flush_sends(QueuePair& qp, Aftermath& after)
{
    stop_waiting(qp);
    qp.asked_ = {};
    while (!qp.send_queue_.empty())
        complete(qp, WcStatus::flush_error, 0, after);
}

void Traffic::flush(std::uint32_t qpn, Aftermath& after)
{
    const std::shared_lock access{access_};
    const std::shared_ptr<QueuePair>* const found = queue_pairs_.find(qpn);
    if (found == nullptr || (*found)->state() != QpState::err)
        return;
    QueuePair& qp = **found;
    {
        const std::lock_guard send{qp.send_mutex_};
        run(qp, true, after);
    }
    const std::lock_guard inbound{qp.inbound_mutex_};
    const auto flush_inbound = [&] {
        Completion completion;
        completion.id = qp.inbound_work_.id;
        completion.status = WcStatus::flush_error;
        completion.opcode = WcOpcode::receive;
        completion.qpn = qpn;
        delivery_.complete_receive(qp, completion, false, after);
    };
    if (std::exchange(qp.inbound_held_, false)) // the rest of the message will not come
        flush_inbound();
    if (qp.options_.srq) {
        if (!std::exchange(qp.last_wqe_reported_, true))
            after.events.push_back({EventType::qp_last_wqe_reached, qpn});
        return;
    }
    // A source may be filled while it is emptied.
    for (std::uint32_t left = most_flushed;
         left != 0 && qp.receive_queue_.pop(qp.inbound_work_) != ReceiveQueue::Popped::nothing; --left)
        flush_inbound();
}

void Traffic::run_number(std::uint32_t qpn, bool woken, Aftermath& after)
{
    const std::shared_lock access{access_};
    const std::shared_ptr<QueuePair>* const found = queue_pairs_.find(qpn);
    if (found == nullptr)
        return;
    const std::lock_guard send{(*found)->send_mutex_};
    run(**found, woken, after);
}

void Traffic::finish(Aftermath& after)
{
    for (;;) {
        if (!after.failed.empty()) {
            const std::uint32_t qpn = after.failed.back();
            after.failed.pop_back();
            flush(qpn, after);
            // Whoever waits for a queue pair that has failed need not wait any longer.
            after.wake_waiting = true;
        } else if (std::exchange(after.wake_waiting, false)) {
            const std::vector<std::uint32_t> all = waiting_.all();
            after.wake.insert(after.wake.end(), all.begin(), all.end());
        } else if (!after.wake.empty()) {
            const std::uint32_t qpn = after.wake.back();
            after.wake.pop_back();
            run_number(qpn, true, after);
        } else if (!after.links.empty()) {
            const std::shared_ptr<Link> link = std::move(after.links.back());
            after.links.pop_back();
            progress(*link, false);
        } else {
            break;
        }
    }
    for (const Event& event : after.events) {
        if (options_.on_event)
            options_.on_event(event);
    }
    for (const std::shared_ptr<CompletionQueue>& cq : after.notify)
        cq->notify();
}

void Traffic::progress()
{
    if (!waiting_.any() && !link_waiting_.any())
        return;
    Aftermath after;
    const QueuePair::Clock::time_point now = options_.now();
    for (const WaitingList* const list : {&waiting_, &link_waiting_}) {
        for (const std::uint32_t qpn : list->due(now))
            run_number(qpn, false, after);
    }
    finish(after);
}

} // namespace mrz::hca
