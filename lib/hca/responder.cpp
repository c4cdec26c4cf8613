// SPDX-License-Identifier: BSD-3-Clause
#include "responder.hpp"

#include <algorithm>
#include <atomic>

namespace mrz::hca {
namespace {

Answer answer_to(Violation violation)
{
    switch (remote_status(violation)) {
    case WcStatus::success:
        return Answer::done;
    case WcStatus::remote_operation_error:
        return Answer::operation_error;
    default:
        return Answer::access_error;
    }
}

Completion receive_completion(const Request& request, const QueuePair& qp, std::uint64_t id)
{
    Completion completion;
    completion.id = id;
    completion.opcode = request.opcode == SendOpcode::rdma_write_with_immediate
                            ? WcOpcode::receive_rdma_with_immediate
                            : WcOpcode::receive;
    completion.has_immediate = has_immediate(request.opcode);
    completion.immediate = request.immediate;
    completion.byte_length = static_cast<std::uint32_t>(request.length);
    completion.qpn = qp.number();
    completion.source_qpn = request.source_qpn;
    completion.solicited = request.solicited;
    return completion;
}

} // namespace

Response Responder::execute(const Request& request, Scratch& scratch, Aftermath& after) const
{
    const std::shared_ptr<QueuePair>* const found = queue_pairs_.find(request.destination_qpn);
    if (found == nullptr || (*found)->type() != QpType::rc)
        return {.answer = Answer::nobody};
    QueuePair& qp = **found;
    switch (qp.state()) {
    case QpState::reset:
    case QpState::init:
        return {.answer = Answer::not_yet};
    case QpState::err:
        return {.answer = Answer::nobody};
    default:
        break;
    }
    if (qp.attributes_.destination_qpn != request.source_qpn || qp.attributes_.link.get() != request.link)
        return {.answer = Answer::nobody};
    switch (request.opcode) {
    case SendOpcode::rdma_write:
    case SendOpcode::rdma_write_with_immediate:
        return write(qp, request, scratch, after);
    case SendOpcode::rdma_read:
        return read(qp, request, scratch, after);
    case SendOpcode::compare_and_swap:
    case SendOpcode::fetch_and_add:
        return atomic(qp, request, scratch, after);
    case SendOpcode::send:
    case SendOpcode::send_with_immediate:
        break;
    }
    return take_message(qp, request, scratch, after);
}

Response Responder::write(QueuePair& qp, const Request& request, Scratch& scratch, Aftermath& after) const
{
    if (!grants(*qp.attributes_.access, KeyRights::remote_write))
        return refuse(qp, Answer::invalid_request, after);
    Answer answer = Answer::done;
    // All of it before the first byte is moved. Keys may go before the rest has come, so that is looked at again.
    if (request.begins())
        answer = reach_remote(qp, request, 0, request.length, KeyRights::remote_write, Direction::write, scratch);
    if (answer == Answer::done && !(request.begins() && request.ends()))
        answer = reach_remote(qp, request, request.offset, request.part, KeyRights::remote_write, Direction::write,
                              scratch);
    if (answer != Answer::done)
        return refuse(qp, answer, after);
    if (request.opcode == SendOpcode::rdma_write) {
        copy(scratch.remote, request.payload);
        return {};
    }
    const std::lock_guard inbound{qp.inbound_mutex_};
    if (qp.state() == QpState::err)
        return {.answer = Answer::nobody};
    if (request.begins() && !take_receive(qp, request, after))
        return not_ready(qp);
    copy(scratch.remote, request.payload);
    qp.inbound_held_ = !request.ends();
    if (request.ends())
        delivery_.complete_receive(qp, receive_completion(request, qp, qp.inbound_work_.id), request.solicited,
                                   after);
    return {};
}

Response Responder::read(QueuePair& qp, const Request& request, Scratch& scratch, Aftermath& after) const
{
    if (!grants(*qp.attributes_.access, KeyRights::remote_read) || *qp.attributes_.max_dest_rd_atomic == 0)
        return refuse(qp, Answer::invalid_request, after);
    const Answer answer =
        reach_remote(qp, request, 0, request.length, KeyRights::remote_read, Direction::read, scratch);
    if (answer != Answer::done)
        return refuse(qp, answer, after);
    return {.payload = scratch.remote};
}

Response Responder::read_part(QueuePair& qp, const Request& request, Scratch& scratch, Aftermath& after) const
{
    const Answer answer =
        reach_remote(qp, request, request.offset, request.part, KeyRights::remote_read, Direction::read, scratch);
    if (answer != Answer::done)
        return refuse(qp, answer, after);
    return {.payload = scratch.remote};
}

Response Responder::atomic(QueuePair& qp, const Request& request, Scratch& scratch, Aftermath& after) const
{
    if (!grants(*qp.attributes_.access, KeyRights::remote_atomic) || *qp.attributes_.max_dest_rd_atomic == 0 ||
        request.remote_address.value() % sizeof(std::uint64_t) != 0)
        return refuse(qp, Answer::invalid_request, after);
    const Answer answer =
        reach_remote(qp, request, 0, request.length, KeyRights::remote_atomic, Direction::write, scratch);
    if (answer != Answer::done)
        return refuse(qp, answer, after);
    Piece& piece = scratch.remote.front();
    if (piece.length == sizeof(std::uint64_t) && piece.data == nullptr)
        return {.original = 0};
    // Through an indirect key an aligned address may lead to bytes that are not aligned, or not in one piece.
    if (piece.length != sizeof(std::uint64_t) ||
        reinterpret_cast<std::uintptr_t>(piece.data) % std::atomic_ref<std::uint64_t>::required_alignment != 0)
        return refuse(qp, Answer::invalid_request, after);
    const std::atomic_ref<std::uint64_t> word{*reinterpret_cast<std::uint64_t*>(piece.data)};
    if (request.opcode == SendOpcode::fetch_and_add)
        return {.original = word.fetch_add(request.compare_add)};
    std::uint64_t original = request.compare_add;
    word.compare_exchange_strong(original, request.swap);
    return {.original = original};
}

Response Responder::take_message(QueuePair& qp, const Request& request, Scratch& scratch, Aftermath& after) const
{
    const std::lock_guard inbound{qp.inbound_mutex_};
    // Looked at again under the lock: what fails a queue pair sets the state before it flushes under this lock.
    if (qp.state() == QpState::err)
        return {.answer = Answer::nobody};
    if (request.begins() && !take_receive(qp, request, after))
        return not_ready(qp);
    Completion completion = receive_completion(request, qp, qp.inbound_work_.id);
    if (request.begins())
        completion.status = reach_receive(qp, 0, request.length, scratch);
    if (completion.status == WcStatus::success && !(request.begins() && request.ends()))
        completion.status = reach_receive(qp, request.offset, request.part, scratch);
    if (completion.status == WcStatus::success)
        copy(scratch.remote, request.payload);
    qp.inbound_held_ = completion.status == WcStatus::success && !request.ends();
    if (qp.inbound_held_)
        return {};
    delivery_.complete_receive(qp, completion, request.solicited, after);
    if (completion.status == WcStatus::success)
        return {};
    return refuse(
        qp, completion.status == WcStatus::local_length_error ? Answer::invalid_request : Answer::operation_error,
        after);
}

void Responder::deliver_datagram(const Request& request, Scratch& scratch, Aftermath& after) const
{
    const std::shared_ptr<QueuePair>* const found = queue_pairs_.find(request.destination_qpn);
    if (found == nullptr || (*found)->type() != QpType::ud) {
        drop_datagram();
        return;
    }
    QueuePair& qp = **found;
    const std::lock_guard inbound{qp.inbound_mutex_};
    const QpState state = qp.state();
    if (state == QpState::reset || state == QpState::init || state == QpState::err ||
        qp.attributes_.qkey != request.qkey || !take_receive(qp, request, after)) {
        drop_datagram();
        return;
    }
    Completion completion = receive_completion(request, qp, qp.inbound_work_.id);
    completion.byte_length += grh_bytes;
    completion.source_lid = request.source_lid;
    completion.has_grh = !request.grh.empty();
    if (completion.has_grh) {
        completion.status = reach_receive(qp, 0, grh_bytes, scratch);
        if (completion.status == WcStatus::success)
            copy(scratch.remote, request.grh);
    }
    if (completion.status == WcStatus::success)
        completion.status = reach_receive(qp, grh_bytes, request.length, scratch);
    if (completion.status == WcStatus::success)
        copy(scratch.remote, request.payload);
    delivery_.complete_receive(qp, completion, request.solicited, after);
    if (completion.status != WcStatus::success)
        Delivery::fail(qp, std::nullopt, after);
}

Response Responder::refuse(QueuePair& qp, Answer answer, Aftermath& after)
{
    std::optional<EventType> event;
    if (answer == Answer::access_error)
        event = EventType::qp_access_error;
    else if (answer == Answer::invalid_request)
        event = EventType::qp_request_error;
    Delivery::fail(qp, event, after);
    return {.answer = answer};
}

Response Responder::not_ready(const QueuePair& qp)
{
    return {.answer = Answer::receiver_not_ready, .rnr_timer = *qp.attributes_.min_rnr_timer};
}

Answer Responder::reach_remote(const QueuePair& qp, const Request& request, std::uint64_t offset,
                               std::uint64_t length, KeyRights needs, Direction direction, Scratch& scratch) const
{
    scratch.segments.clear();
    scratch.remote.clear();
    const Violation violation = translator_.translate(
        {Mkey{request.rkey.value}, request.remote_address + offset, length, needs, qp.pd()}, scratch.segments);
    if (violation != Violation::none)
        return answer_to(violation);
    return resolve(bus_, scratch.segments, direction, scratch.remote) ? Answer::done : Answer::operation_error;
}

bool Responder::take_receive(QueuePair& qp, const Request& request, Aftermath& after)
{
    ReceiveQueue::Popped popped = qp.receives().pop(qp.inbound_work_);
    if (popped == ReceiveQueue::Popped::nothing && request.link != nullptr) {
        // Whoever posts one from here on tells the peer. One may have been posted just before.
        qp.starved_.store(true);
        if (qp.options_.srq)
            qp.options_.srq->starved().store(true);
        popped = qp.receives().pop(qp.inbound_work_);
    }
    switch (popped) {
    case ReceiveQueue::Popped::nothing:
        return false;
    case ReceiveQueue::Popped::work_and_limit:
        if (qp.options_.srq)
            after.events.push_back({EventType::srq_limit_reached, qp.options_.srq->number()});
        break;
    case ReceiveQueue::Popped::work:
        break;
    }
    return true;
}

WcStatus Responder::reach_receive(const QueuePair& qp, std::uint64_t skip, std::uint64_t length,
                                  Scratch& scratch) const
{
    scratch.segments.clear();
    scratch.remote.clear();
    for (const Sge& sge : qp.inbound_work_.sges) {
        const std::uint64_t skipped = std::min<std::uint64_t>(skip, sge.length);
        skip -= skipped;
        const std::uint64_t part = std::min<std::uint64_t>(length, sge.length - skipped);
        length -= part;
        const Violation violation =
            translator_.translate({Mkey{sge.lkey.value}, sge.address + skipped, part, KeyRights::local_write,
                                   qp.receive_pd(), qp.options_.privileged},
                                  scratch.segments);
        if (violation != Violation::none)
            return local_status(violation);
    }
    if (skip != 0 || length != 0)
        return WcStatus::local_length_error;
    return resolve(bus_, scratch.segments, Direction::write, scratch.remote) ? WcStatus::success
                                                                             : WcStatus::local_protection_error;
}

} // namespace mrz::hca
