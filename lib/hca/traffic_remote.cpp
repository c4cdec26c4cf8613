// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! The side that asks, over a link: many requests are under way at once, and are answered in order. Datagrams are
//! not answered.
#include "traffic.hpp"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <utility>

namespace mrz::hca {
namespace {

constexpr std::uint8_t retry_for_ever = 7; // rnr_retry
// How often a peer is asked that is not ready to receive, where the queue pair has no timeout.
constexpr std::chrono::milliseconds patience{100};
// What one call sends at most: the rest waits for its turn.
constexpr std::size_t send_budget = std::size_t{512} << 10;

Packet request_packet(const QueuePair& qp, std::uint32_t peer, const SendWorkRequest& work, std::uint64_t length)
{
    Packet packet;
    packet.kind = static_cast<std::uint8_t>(PacketKind::request);
    packet.code = static_cast<std::uint8_t>(work.opcode);
    packet.solicited = has(work.flags, SendFlags::solicited);
    packet.source_qpn = qp.number();
    packet.destination_qpn = peer;
    packet.rkey = work.rkey.value;
    packet.immediate = work.immediate;
    packet.address = work.remote_address.value();
    packet.length = length;
    packet.compare_add = work.compare_add;
    packet.swap = work.swap;
    return packet;
}

} // namespace

// ---- Asking -------------------------------------------------------------------------------------------------------

void Traffic::send(QueuePair& qp, Aftermath& after)
{
    Link& link = *qp.attributes_.link;
    QueuePair::Asked& asked = qp.asked_;
    std::size_t budget = send_budget;
    while (!qp.send_queue_.empty()) {
        const QpState state = qp.state();
        if (state == QpState::err || state == QpState::sqe) { // what was sent, too: its answer is not waited for
            flush_sends(qp, after);
            return;
        }
        if (asked.sent == qp.send_queue_.pending())
            return;
        if (link.ended()) {
            lose_link(qp, after);
            return;
        }
        // In SQD, too: a time that has come is none to wait for.
        if (asked.paused) {
            if (options_.now() < qp.stall_.until)
                return;
            asked.paused = false;
            asked.early = false;
            link_waiting_.remove(qp.number());
        }
        // What was begun is brought to its end in SQD, too.
        if (state != QpState::rts && !(state == QpState::sqd && asked.offset != 0))
            return;
        if (asked.failure) {
            if (asked.sent != 0)
                return; // those before are answered first
            complete_asked(qp, *asked.failure, 0, after);
            return;
        }
        const SendWorkRequest& work = qp.send_queue_.at(asked.sent).request;
        if (has(work.flags, SendFlags::fence) && asked.offset == 0 && asked.reads != 0)
            return;
        if (brings_back(work.opcode) &&
            asked.reads >= std::max<std::uint32_t>(1, qp.attributes_.max_rd_atomic.value_or(1)))
            return;
        if (asked.blocked) // goes on when the link has room: let_blocked_go_on()
            return;
        if (!send_part(qp, link, budget)) {
            if (budget == 0)
                link.leave_work();
            asked.blocked = true;
            link.wait_for_room(qp.number());
            return;
        }
    }
}

bool Traffic::send_part(QueuePair& qp, Link& link, std::size_t& budget)
{
    QueuePair::Asked& asked = qp.asked_;
    SendQueue::Work& work = qp.send_queue_.at(asked.sent);
    const std::uint64_t length = Requester::payload_length(work);
    const bool carries = !brings_back(work.request.opcode);
    const std::uint64_t part = carries ? std::min<std::uint64_t>(most_payload, length - asked.offset) : 0;
    if (budget < part) {
        budget = 0;
        return false;
    }
    WcStatus status = WcStatus::success;
    if (asked.offset == 0) { // all of it, before its first byte goes
        status = requester_.check_length(qp, work, length);
        if (status == WcStatus::success)
            status = requester_.reach_local(qp, work, 0, length, qp.scratch_);
    }
    if (status == WcStatus::success && carries && part != length)
        status = requester_.reach_local(qp, work, asked.offset, part, qp.scratch_);
    if (status != WcStatus::success) {
        asked.failure = status;
        return true;
    }
    Packet packet = request_packet(qp, *qp.attributes_.destination_qpn, work.request, length);
    packet.payload = static_cast<std::uint32_t>(part);
    packet.sequence = asked.first + asked.sent;
    packet.attempt = asked.attempt;
    if (asked.offset != 0) {
        packet.kind = static_cast<std::uint8_t>(PacketKind::more);
        packet.address = asked.offset;
    }
    if (!link.write(packet, carries ? std::span<const Piece>{qp.scratch_.local} : std::span<const Piece>{}))
        return false;
    budget -= part;
    asked.offset += part;
    if (!carries || asked.offset == length) {
        asked.offset = 0;
        ++asked.sent;
        asked.reads += carries ? 0 : 1;
    }
    return true;
}

// False if it waits for room.
bool Traffic::send_datagram(QueuePair& qp, Aftermath& after)
{
    if (qp.asked_.blocked)
        return false;
    SendQueue::Work& work = qp.send_queue_.front();
    Link& link = *work.request.link;
    const std::uint64_t length = Requester::payload_length(work);
    WcStatus status = requester_.check_length(qp, work, length);
    if (status == WcStatus::success)
        status = requester_.reach_local(qp, work, 0, length, qp.scratch_);
    if (status == WcStatus::success && link.open()) {
        std::vector<Piece>& pieces = qp.scratch_.local;
        if (work.request.grh)
            pieces.insert(pieces.begin(), {work.request.grh->data(), grh_bytes});
        Packet packet = request_packet(qp, work.request.remote_qpn, work.request, length);
        packet.kind = static_cast<std::uint8_t>(PacketKind::datagram);
        packet.payload = static_cast<std::uint32_t>(length + (work.request.grh ? grh_bytes : 0));
        packet.rkey = Requester::qkey_of(qp, work.request);
        packet.address = work.request.source_lid;
        if (!link.write(packet, pieces)) {
            qp.asked_.blocked = true;
            link.wait_for_room(qp.number());
            // Who ends the link lets those go on that wait by then.
            if (!link.ended())
                return false;
            qp.asked_.blocked = false;
        }
    }
    complete(qp, status, length, after); // what is sent into a link that has ended is lost on the way
    return true;
}

void Traffic::lose_link(QueuePair& qp, Aftermath& after)
{
    if (qp.state() != QpState::err && !qp.send_queue_.empty())
        complete_asked(qp, WcStatus::retry_exceeded_error, 0, after);
    else if (!options_.idle_outlive_links)
        Delivery::fail(qp, std::nullopt, after);
}

// ---- Answers ------------------------------------------------------------------------------------------------------

void Traffic::take_answer(Link& link, const Packet& packet, std::span<const Piece> payload, Aftermath& after)
{
    const std::shared_ptr<QueuePair>* const found = queue_pairs_.find(packet.destination_qpn);
    if (found == nullptr || (*found)->attributes_.link.get() != &link ||
        (*found)->attributes_.destination_qpn != packet.source_qpn)
        return;
    QueuePair& qp = **found;
    const std::lock_guard lock{qp.send_mutex_};
    if (qp.state() == QpState::err || qp.send_queue_.empty())
        return;
    answered(qp, packet, payload, after);
    send(qp, after);
    report_drained(qp, after);
}

void Traffic::answered(QueuePair& qp, const Packet& packet, std::span<const Piece> payload, Aftermath& after)
{
    QueuePair::Asked& asked = qp.asked_;
    const auto kind = static_cast<PacketKind>(packet.kind);
    if (kind == PacketKind::refused) {
        take_refusal(qp, packet, after);
        return;
    }
    if (kind == PacketKind::receive_ready) {
        if (asked.paused && qp.stall_.waiting == QueuePair::Waiting::for_receive) {
            asked.paused = false;
            asked.early = true;
            link_waiting_.remove(qp.number());
        }
        return;
    }
    const std::uint32_t place = packet.sequence - asked.first;
    if (place >= asked.sent)
        return; // an answer to nothing
    if (!answered_before(qp, place, after))
        return;
    const SendOpcode opcode = qp.send_queue_.front().request.opcode;
    switch (kind) {
    case PacketKind::data:
        take_data(qp, packet, payload, after);
        return;
    case PacketKind::original:
        if (!is_atomic(opcode))
            break;
        {
            const WcStatus status =
                requester_.reach_local(qp, qp.send_queue_.front(), 0, sizeof packet.compare_add, qp.scratch_);
            std::uint64_t original = packet.compare_add;
            const Piece piece{reinterpret_cast<std::byte*>(&original), sizeof original};
            if (status == WcStatus::success)
                copy(qp.scratch_.local, {&piece, 1});
            complete_asked(qp, status, sizeof original, after);
        }
        return;
    default:
        if (brings_back(opcode))
            break;
        complete_asked(qp, WcStatus::success, Requester::payload_length(qp.send_queue_.front()), after);
        return;
    }
    complete_asked(qp, WcStatus::bad_response_error, 0, after);
}

// An answer is one to all writes and sends before, too. False if one of those before is something else.
bool Traffic::answered_before(QueuePair& qp, std::uint32_t place, Aftermath& after)
{
    for (; place != 0; --place) {
        const bool plain = !brings_back(qp.send_queue_.front().request.opcode);
        complete_asked(qp, plain ? WcStatus::success : WcStatus::bad_response_error,
                       plain ? Requester::payload_length(qp.send_queue_.front()) : 0, after);
        if (!plain)
            return false;
    }
    return true;
}

void Traffic::take_data(QueuePair& qp, const Packet& packet, std::span<const Piece> payload, Aftermath& after)
{
    QueuePair::Asked& asked = qp.asked_;
    SendQueue::Work& work = qp.send_queue_.front();
    const std::uint64_t length = Requester::payload_length(work);
    WcStatus status = WcStatus::success;
    if (work.request.opcode != SendOpcode::rdma_read || packet.address != asked.received ||
        packet.payload > length - asked.received || (packet.payload == 0 && length != 0))
        status = WcStatus::bad_response_error;
    else
        status = requester_.reach_local(qp, work, asked.received, packet.payload, qp.scratch_);
    if (status == WcStatus::success) {
        copy(qp.scratch_.local, payload);
        asked.received += packet.payload;
        if (asked.received != length)
            return;
    }
    complete_asked(qp, status, length, after);
}

void Traffic::take_refusal(QueuePair& qp, const Packet& packet, Aftermath& after)
{
    QueuePair::Asked& asked = qp.asked_;
    const auto answer = static_cast<Answer>(packet.code);
    // Nobody is there, who has perhaps not told of what was done before.
    if (answer == Answer::nobody) {
        complete_asked(qp, WcStatus::retry_exceeded_error, 0, after);
        return;
    }
    const std::uint32_t place = packet.sequence - asked.first;
    const bool goes_back = answer == Answer::receiver_not_ready || answer == Answer::not_yet;
    if (place > asked.sent || (place == asked.sent && asked.offset == 0) ||
        (goes_back && packet.attempt != asked.attempt))
        return; // of something that was not asked, or will not be answered once more
    // Who was not ready, or expected another one, tells nothing of those before.
    if (answer != Answer::not_yet && !answered_before(qp, place, after))
        return;
    switch (answer) {
    case Answer::receiver_not_ready:
        go_back(qp, QueuePair::Waiting::for_receive, packet.rnr_timer, after);
        break;
    case Answer::not_yet:
        go_back(qp, QueuePair::Waiting::for_peer, 0, after);
        break;
    case Answer::invalid_request:
        complete_asked(qp, WcStatus::remote_invalid_request_error, 0, after);
        break;
    case Answer::access_error:
        complete_asked(qp, WcStatus::remote_access_error, 0, after);
        break;
    case Answer::operation_error:
        complete_asked(qp, WcStatus::remote_operation_error, 0, after);
        break;
    default:
        complete_asked(qp, WcStatus::bad_response_error, 0, after);
        break;
    }
}

void Traffic::go_back(QueuePair& qp, QueuePair::Waiting waiting, std::uint8_t rnr_timer, Aftermath& after)
{
    QueuePair::Asked& asked = qp.asked_;
    QueuePair::Stall& stall = qp.stall_;
    const bool for_receive = waiting == QueuePair::Waiting::for_receive;
    const auto timeout = answer_timeout(*qp.attributes_.timeout);
    const bool endless = for_receive ? *qp.attributes_.rnr_retry == retry_for_ever : !timeout;
    if (for_receive)
        count(counters_.receiver_not_ready);
    bool ends = false;
    if (stall.waiting != waiting) {
        stall = {waiting, {}, for_receive ? *qp.attributes_.rnr_retry : *qp.attributes_.retry_count + 1U};
        asked.early = false;
        ends = stall.tries_left == 0;
    } else if (!endless && !asked.early) {
        ends = --stall.tries_left == 0;
    }
    if (ends) {
        complete_asked(qp, for_receive ? WcStatus::rnr_retry_exceeded_error : WcStatus::retry_exceeded_error, 0,
                       after);
        return;
    }
    // The peer tells when there is a receive. So nobody asks again and again who would wait for ever.
    if (for_receive && endless)
        stall.until = QueuePair::Clock::time_point::max();
    else if (!asked.early)
        stall.until = options_.now() +
                      (for_receive ? std::chrono::nanoseconds{rnr_delay(rnr_timer)} : timeout.value_or(patience));
    asked.early = false;
    asked.paused = true;
    asked.sent = 0;
    asked.offset = 0;
    asked.reads = 0;
    asked.received = 0;
    asked.failure.reset();
    ++asked.attempt;
    link_waiting_.set(qp.number(), stall.until);
    report_drained(qp, after);
}

void Traffic::complete_asked(QueuePair& qp, WcStatus status, std::uint64_t bytes, Aftermath& after)
{
    QueuePair::Asked& asked = qp.asked_;
    if (asked.sent != 0) {
        --asked.sent;
        asked.reads -= brings_back(qp.send_queue_.front().request.opcode) ? 1 : 0;
    } else {
        asked.offset = 0;
    }
    ++asked.first;
    asked.received = 0;
    stop_waiting(qp);
    complete(qp, status, bytes, after);
    if (status != WcStatus::success)
        flush_sends(qp, after);
}

void Traffic::report_drained(QueuePair& qp, Aftermath& after)
{
    QueuePair::Asked& asked = qp.asked_;
    if (asked.report_drained && qp.state() == QpState::sqd && asked.sent == 0 && asked.offset == 0) {
        asked.report_drained = false;
        after.events.push_back({EventType::sq_drained, qp.number()});
    }
}

} // namespace mrz::hca
