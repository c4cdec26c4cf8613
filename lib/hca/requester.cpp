// SPDX-License-Identifier: BSD-3-Clause
#include "requester.hpp"

#include <algorithm>

namespace mrz::hca {

Requester::Outcome Requester::execute(QueuePair& qp, SendQueue::Work& work, Aftermath& after) const
{
    Scratch& scratch = qp.scratch_;
    const SendWorkRequest& posted = work.request;
    Request request;
    request.length = payload_length(work);
    WcStatus status = check_length(qp, work, request.length);
    if (status == WcStatus::success)
        status = reach_local(qp, work, 0, request.length, scratch);
    if (status != WcStatus::success)
        return {.status = status};
    request.opcode = posted.opcode;
    request.source_qpn = qp.number();
    request.remote_address = posted.remote_address;
    request.rkey = posted.rkey;
    request.immediate = posted.immediate;
    request.solicited = has(posted.flags, SendFlags::solicited);
    request.compare_add = posted.compare_add;
    request.swap = posted.swap;
    if (!brings_back(posted.opcode)) {
        request.part = request.length;
        request.payload = scratch.local;
    }
    if (qp.type() == QpType::ud)
        return send_datagram(qp, request, posted, scratch, after);

    request.destination_qpn = *qp.attributes_.destination_qpn;
    Response response = responder_.execute(request, scratch, after);
    switch (response.answer) {
    case Answer::done:
        break;
    case Answer::receiver_not_ready:
        return {.waiting = QueuePair::Waiting::for_receive, .rnr_timer = response.rnr_timer};
    case Answer::not_yet:
        return {.waiting = QueuePair::Waiting::for_peer};
    case Answer::invalid_request:
        return {.status = WcStatus::remote_invalid_request_error};
    case Answer::access_error:
        return {.status = WcStatus::remote_access_error};
    case Answer::operation_error:
        return {.status = WcStatus::remote_operation_error};
    case Answer::nobody:
        return {.status = WcStatus::retry_exceeded_error};
    }
    if (posted.opcode == SendOpcode::rdma_read) {
        copy(scratch.local, response.payload);
    } else if (is_atomic(posted.opcode)) {
        const Piece original{reinterpret_cast<std::byte*>(&response.original), sizeof response.original};
        copy(scratch.local, {&original, 1});
    }
    return {.bytes = request.length};
}

Requester::Outcome Requester::send_datagram(const QueuePair& qp, Request& request, const SendWorkRequest& work,
                                            Scratch& scratch, Aftermath& after) const
{
    request.destination_qpn = work.remote_qpn;
    request.qkey = qkey_of(qp, work);
    request.source_lid = work.source_lid;
    const Piece grh = work.grh ? Piece{const_cast<std::byte*>(work.grh->data()), grh_bytes} : Piece{};
    if (work.grh)
        request.grh = {&grh, 1};
    responder_.deliver_datagram(request, scratch, after);
    return {.bytes = request.length};
}

std::uint32_t Requester::qkey_of(const QueuePair& qp, const SendWorkRequest& work)
{
    static constexpr std::uint32_t own_qkey = 1U << 31;
    return (work.remote_qkey & own_qkey) != 0 ? *qp.attributes_.qkey : work.remote_qkey;
}

std::uint64_t Requester::payload_length(const SendQueue::Work& work)
{
    std::uint64_t length = has(work.request.flags, SendFlags::inline_data) ? work.inline_bytes.size() : 0;
    for (const Sge& sge : work.sges)
        length += sge.length;
    return length;
}

WcStatus Requester::check_length(const QueuePair& qp, const SendQueue::Work& work, std::uint64_t length) const
{
    if (length > (qp.type() == QpType::ud ? options_.mtu : options_.max_message) ||
        (is_atomic(work.request.opcode) && length != sizeof(std::uint64_t)))
        return WcStatus::local_length_error;
    return WcStatus::success;
}

WcStatus Requester::reach_local(const QueuePair& qp, SendQueue::Work& work, std::uint64_t offset,
                                std::uint64_t length, Scratch& scratch) const
{
    const SendOpcode opcode = work.request.opcode;
    scratch.segments.clear();
    scratch.local.clear();
    if (has(work.request.flags, SendFlags::inline_data)) {
        scratch.local.push_back({work.inline_bytes.data() + offset, length});
        return WcStatus::success;
    }
    const KeyRights needs = brings_back(opcode) ? KeyRights::local_write : KeyRights::local_read;
    for (const Sge& sge : work.sges) {
        const std::uint64_t skipped = std::min<std::uint64_t>(offset, sge.length);
        offset -= skipped;
        const std::uint64_t part = std::min<std::uint64_t>(length, sge.length - skipped);
        length -= part;
        const Violation violation = translator_.translate(
            {Mkey{sge.lkey.value}, sge.address + skipped, part, needs, qp.pd(), qp.options_.privileged},
            scratch.segments);
        if (violation != Violation::none)
            return local_status(violation);
    }
    const Direction direction = brings_back(opcode) ? Direction::write : Direction::read;
    return resolve(bus_, scratch.segments, direction, scratch.local) ? WcStatus::success
                                                                     : WcStatus::local_protection_error;
}

} // namespace mrz::hca
