// SPDX-License-Identifier: BSD-3-Clause
#include "parts.hpp"

#include <cerrno>
#include <mutex>
#include <shared_mutex>

namespace mrz::hca {
namespace {

bool makes_sense(const QueuePair& qp, const SendWorkRequest& request)
{
    if (request.opcode > SendOpcode::fetch_and_add)
        return false;
    if (qp.type() == QpType::ud && request.opcode != SendOpcode::send &&
        request.opcode != SendOpcode::send_with_immediate)
        return false;
    return !has(request.flags, SendFlags::inline_data) || !brings_back(request.opcode);
}

} // namespace

int Hca::post_send(QueuePair& qp, const SendWorkRequest& request)
{
    if (!makes_sense(qp, request))
        return EINVAL;
    Aftermath after;
    {
        const std::shared_lock access{parts_->access};
        const std::lock_guard send{qp.send_mutex_};
        const QpState state = qp.state();
        if (state == QpState::reset || state == QpState::init || state == QpState::rtr)
            return EINVAL;
        if (const int error = qp.send_queue_.push(request); error != 0)
            return error;
        parts_->traffic.run(qp, false, after);
    }
    parts_->traffic.finish(after);
    return 0;
}

int Hca::post_receive(QueuePair& qp, const ReceiveWorkRequest& request)
{
    Aftermath after;
    {
        const std::shared_lock access{parts_->access};
        if (qp.options_.srq || qp.state() == QpState::reset)
            return EINVAL;
        if (const int error = qp.receive_queue_.push(request); error != 0)
            return error;
        // After the push: whoever fails the queue pair from here on finds this receive when flushing.
        if (qp.state() == QpState::err)
            after.failed.push_back(qp.number());
        else if (parts_->traffic.waiting().any() && qp.attributes_.destination_qpn)
            after.wake.push_back(*qp.attributes_.destination_qpn);
    }
    parts_->traffic.finish(after);
    return 0;
}

int Hca::post_receive(SharedReceiveQueue& srq, const ReceiveWorkRequest& request)
{
    if (const int error = srq.queue().push(request); error != 0)
        return error;
    if (parts_->traffic.waiting().any()) {
        Aftermath after;
        after.wake_waiting = true;
        parts_->traffic.finish(after);
    }
    return 0;
}

std::size_t Hca::poll(CompletionQueue& cq, std::span<Completion> completions)
{
    parts_->traffic.progress();
    return cq.poll(completions);
}

void Hca::progress()
{
    parts_->traffic.progress();
}

std::optional<QueuePair::Clock::time_point> Hca::next_deadline() const
{
    return parts_->traffic.waiting().nearest();
}

} // namespace mrz::hca
