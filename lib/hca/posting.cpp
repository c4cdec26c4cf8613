// SPDX-License-Identifier: BSD-3-Clause
#include "parts.hpp"

#include <algorithm>
#include <cerrno>
#include <mutex>
#include <shared_mutex>

namespace mrz::hca {
namespace {

bool makes_sense(const QueuePair& qp, const SendWorkRequest& request)
{
    if (request.opcode > SendOpcode::fetch_and_add)
        return false;
    if (qp.type() != QpType::ud && request.link)
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
        parts_->have_receive(qp, after);
    }
    parts_->traffic.finish(after);
    return 0;
}

int Hca::post_receive(SharedReceiveQueue& srq, const ReceiveWorkRequest& request)
{
    if (const int error = srq.queue().push(request); error != 0)
        return error;
    receives_added(srq);
    return 0;
}

void Hca::receives_added(QueuePair& qp)
{
    Aftermath after;
    {
        const std::shared_lock access{parts_->access};
        if (qp.state() != QpState::reset)
            parts_->have_receive(qp, after);
    }
    parts_->traffic.finish(after);
}

void Hca::receives_added(SharedReceiveQueue& srq)
{
    Aftermath after;
    after.wake_waiting = parts_->traffic.waiting().any();
    if (srq.starved().load() && srq.starved().exchange(false)) {
        const std::shared_lock access{parts_->access};
        for (const auto& [qpn, qp] : parts_->qps.all()) {
            if (qp->options_.srq.get() == &srq && qp->attributes_.link)
                parts_->tell_receive(*qp, after);
        }
    }
    parts_->traffic.finish(after);
}

void Hca::Parts::have_receive(QueuePair& qp, Aftermath& after) const
{
    // After it was posted: whoever fails the queue pair from here on finds this receive when flushing.
    if (qp.state() == QpState::err)
        after.failed.push_back(qp.number());
    else if (qp.attributes_.link)
        tell_receive(qp, after);
    else if (traffic.waiting().any() && qp.attributes_.destination_qpn)
        after.wake.push_back(*qp.attributes_.destination_qpn);
}

void Hca::Parts::tell_receive(QueuePair& qp, Aftermath& after)
{
    if (!qp.starved_.load() || !qp.starved_.exchange(false))
        return;
    qp.receive_ready_.store(true);
    qp.attributes_.link->want_attention(qp.number());
    after.links.push_back(qp.attributes_.link);
}

WcStatus Hca::read_local(Pd pd, const Sge& from, std::span<std::byte> into, bool privileged) const
{
    const std::uint64_t length = std::min<std::uint64_t>(from.length, into.size());
    Scratch scratch;
    const std::shared_lock access{parts_->access};
    const Violation violation = parts_->translator.translate(
        {Mkey{from.lkey.value}, from.address, length, KeyRights::local_read, pd, privileged}, scratch.segments);
    if (violation != Violation::none)
        return local_status(violation);
    if (!resolve(parts_->bus, scratch.segments, Direction::read, scratch.local))
        return WcStatus::local_protection_error;
    const Piece to{into.data(), length};
    copy({&to, 1}, scratch.local);
    return WcStatus::success;
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
    const auto within = parts_->traffic.waiting().nearest();
    const auto over_links = next_link_deadline();
    return within && over_links ? std::min(*within, *over_links) : within ? within : over_links;
}

std::optional<QueuePair::Clock::time_point> Hca::next_link_deadline() const
{
    return parts_->traffic.link_waiting().nearest();
}

bool Hca::progress(Link& link, bool keeper)
{
    return parts_->traffic.progress(link, keeper);
}

} // namespace mrz::hca
