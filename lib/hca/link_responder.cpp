// SPDX-License-Identifier: BSD-3-Clause
#include "link_responder.hpp"

#include <algorithm>
#include <utility>

namespace mrz::hca {
namespace {

// Bytes of answers to reads in one turn, so that other work has its turn, too.
constexpr std::size_t read_budget = std::size_t{256} << 10;

Packet answer_packet(PacketKind kind, const QueuePair& qp, std::uint32_t sequence)
{
    Packet packet;
    packet.kind = static_cast<std::uint8_t>(kind);
    packet.source_qpn = qp.number();
    packet.sequence = sequence;
    return packet;
}

// What is left behind the first bytes of a packet's payload.
RingPieces behind(std::span<const Piece> payload, std::uint64_t skip)
{
    RingPieces rest;
    for (const Piece& piece : payload.first(std::min(payload.size(), rest.pieces.size()))) {
        const std::uint64_t skipped = std::min(skip, piece.length);
        skip -= skipped;
        if (skipped != piece.length)
            rest.pieces[rest.count++] = {piece.data + skipped, piece.length - skipped};
    }
    return rest;
}

} // namespace

void LinkResponder::take(Link& link, const Packet& packet, std::span<const Piece> payload, Aftermath& after) const
{
    QueuePair* const qp = find(link, packet.destination_qpn);
    if (qp != nullptr && qp->attributes_.destination_qpn == packet.source_qpn) {
        take_part(link, *qp, packet, payload, after);
        return;
    }
    if (static_cast<PacketKind>(packet.kind) != PacketKind::request)
        return;
    // It may be there and not know of its peer yet.
    const std::shared_ptr<QueuePair>* const found = queue_pairs_.find(packet.destination_qpn);
    const bool not_yet =
        found != nullptr && ((*found)->state() == QpState::reset || (*found)->state() == QpState::init);
    keep(link, packet.destination_qpn, packet.source_qpn,
         {packet.sequence, packet.attempt, not_yet ? Answer::not_yet : Answer::nobody, 0});
}

void LinkResponder::keep(Link& link, std::uint32_t source_qpn, std::uint32_t destination_qpn, const Stray& stray)
{
    const std::lock_guard lock{link.attention_mutex_};
    if (link.strays_.size() < Link::most_strays)
        link.strays_.try_emplace({source_qpn, destination_qpn}, stray);
}

void LinkResponder::take_datagram(Link& link, const Packet& packet, std::span<const Piece> payload,
                                  Aftermath& after) const
{
    const auto opcode = static_cast<SendOpcode>(packet.code);
    const bool with_header = packet.length + grh_bytes == packet.payload;
    if ((opcode != SendOpcode::send && opcode != SendOpcode::send_with_immediate) || packet.length > options_.mtu ||
        (!with_header && packet.length != packet.payload)) {
        responder_.drop_datagram();
        return;
    }
    Grh header; // copied, since it lies in memory that the peer writes
    const Piece grh{header.data(), header.size()};
    if (with_header)
        copy({&grh, 1}, payload);
    const RingPieces data = behind(payload, with_header ? grh_bytes : 0);
    Request request;
    request.opcode = opcode;
    request.source_qpn = packet.source_qpn;
    request.destination_qpn = packet.destination_qpn;
    request.qkey = packet.rkey;
    if (with_header)
        request.grh = {&grh, 1};
    request.source_lid = static_cast<std::uint16_t>(packet.address);
    request.length = packet.length;
    request.part = packet.length;
    request.immediate = packet.immediate;
    request.solicited = packet.solicited != 0;
    request.payload = data.span();
    responder_.deliver_datagram(request, link.scratch_, after);
}

QueuePair* LinkResponder::find(const Link& link, std::uint32_t qpn) const
{
    const std::shared_ptr<QueuePair>* const found = queue_pairs_.find(qpn);
    return found == nullptr || (*found)->attributes_.link.get() != &link ? nullptr : found->get();
}

bool LinkResponder::well_formed(const Packet& packet) const noexcept
{
    if (packet.code > static_cast<std::uint8_t>(SendOpcode::fetch_and_add) || packet.length > options_.max_message)
        return false;
    const auto opcode = static_cast<SendOpcode>(packet.code);
    if (brings_back(opcode))
        return packet.payload == 0 && (!is_atomic(opcode) || packet.length == sizeof(std::uint64_t));
    return packet.payload <= packet.length && (packet.payload != 0 || packet.length == 0);
}

void LinkResponder::take_part(Link& link, QueuePair& qp, const Packet& packet, std::span<const Piece> payload,
                              Aftermath& after) const
{
    Served& served = qp.served_;
    if (served.refused)
        return;
    // Messages are taken in order. What else comes was sent before the requester knew of a refusal, or else
    // the two do not agree on numbers: it goes back, as often as it may.
    const bool expected = packet.sequence == served.expected &&
                          (static_cast<PacketKind>(packet.kind) == PacketKind::request || served.in_message);
    if (!expected) {
        if (served.went_back != packet.attempt && !served.refusal) {
            served.went_back = packet.attempt;
            refuse(link, qp, Answer::not_yet, packet);
        }
        return;
    }
    if (qp.state() == QpState::err) {
        served.refused = true;
        refuse(link, qp, Answer::nobody, packet);
        return;
    }
    const bool begins = static_cast<PacketKind>(packet.kind) == PacketKind::request;
    Request& request = served.message;
    bool sensible = false;
    if (begins) {
        sensible = !served.in_message && well_formed(packet);
        request = {};
        request.link = &link;
        request.opcode = static_cast<SendOpcode>(packet.code);
        request.source_qpn = packet.source_qpn;
        request.destination_qpn = packet.destination_qpn;
        request.remote_address = Iova{packet.address};
        request.rkey = RKey{packet.rkey};
        request.length = packet.length;
        request.immediate = packet.immediate;
        request.solicited = packet.solicited != 0;
        request.compare_add = packet.compare_add;
        request.swap = packet.swap;
    } else {
        sensible = packet.address == request.offset && packet.payload != 0 &&
                   packet.payload <= request.length - request.offset;
    }
    if (sensible && brings_back(request.opcode) && served.due.size() >= *qp.attributes_.max_dest_rd_atomic &&
        *qp.attributes_.max_dest_rd_atomic != 0)
        sensible = false;
    Response response;
    if (sensible) {
        request.part = packet.payload;
        request.payload = payload;
        response = responder_.execute(request, link.scratch_, after);
        request.payload = {};
    } else {
        response = Responder::refuse(qp, Answer::invalid_request, after);
    }
    if (response.answer != Answer::done) {
        served.in_message = false;
        served.refused = response.answer != Answer::receiver_not_ready;
        served.went_back = packet.attempt;
        refuse(link, qp, response.answer, packet, response.rnr_timer);
        return;
    }
    if (!request.ends()) {
        served.in_message = true;
        request.offset += request.part;
        return;
    }
    served.in_message = false;
    if (brings_back(request.opcode)) {
        Request asked = request;
        asked.offset = 0;
        served.due.push_back({asked, packet.sequence, 0, response.original});
    }
    ++served.expected;
    list(link, qp);
}

void LinkResponder::refuse(Link& link, QueuePair& qp, Answer answer, const Packet& packet, std::uint8_t rnr_timer)
{
    qp.served_.refusal = {answer, rnr_timer, packet.sequence, packet.attempt};
    list(link, qp);
}

void LinkResponder::list(Link& link, QueuePair& qp)
{
    if (!std::exchange(qp.served_.listed, true))
        link.answering_.push_back(qp.number());
}

void LinkResponder::attend(Link& link, std::uint32_t qpn) const
{
    QueuePair* const qp = find(link, qpn);
    if (qp == nullptr)
        return;
    if (qp->receive_ready_.exchange(false))
        qp->served_.receive_ready = true;
    list(link, *qp);
}

bool LinkResponder::answer(Link& link, Aftermath& after) const
{
    std::size_t budget = read_budget;
    std::size_t left = 0;
    const std::size_t listed = link.answering_.size();
    bool sent = answer_strays(link);
    for (std::size_t i = 0; i < listed; ++i) {
        const std::uint32_t qpn = link.answering_[i];
        QueuePair* const qp = find(link, qpn);
        if (qp == nullptr || !qp->served_.listed)
            continue;
        if (answer(link, *qp, budget, after)) {
            qp->served_.listed = false;
            sent = true;
        } else {
            link.answering_[left++] = qpn;
        }
    }
    link.answering_.erase(link.answering_.begin() + static_cast<std::ptrdiff_t>(left),
                          link.answering_.begin() + static_cast<std::ptrdiff_t>(listed));
    if (budget == 0)
        link.leave_work();
    return sent || budget != read_budget;
}

bool LinkResponder::answer(Link& link, QueuePair& qp, std::size_t& budget, Aftermath& after) const
{
    Served& served = qp.served_;
    const std::uint32_t peer = *qp.attributes_.destination_qpn;
    while (!served.due.empty()) {
        Served::Due& due = served.due.front();
        if (due.request.opcode == SendOpcode::rdma_read) {
            if (!answer_read(link, qp, budget, after))
                return false;
            if (served.due.empty()) // refused after all
                break;
        } else {
            Packet packet = answer_packet(PacketKind::original, qp, due.sequence);
            packet.destination_qpn = peer;
            packet.compare_add = due.original;
            if (!link.write(packet, {}))
                return false;
        }
        served.told = due.sequence + 1;
        served.due.erase(served.due.begin());
    }
    if (served.told != served.expected) {
        Packet packet = answer_packet(PacketKind::done, qp, served.expected - 1);
        packet.destination_qpn = peer;
        if (!link.write(packet, {}))
            return false;
        served.told = served.expected;
    }
    if (served.refusal) {
        Packet packet = answer_packet(PacketKind::refused, qp, served.refusal->sequence);
        packet.destination_qpn = peer;
        packet.code = static_cast<std::uint8_t>(served.refusal->answer);
        packet.rnr_timer = served.refusal->rnr_timer;
        packet.attempt = served.refusal->attempt;
        if (!link.write(packet, {}))
            return false;
        served.refusal.reset();
    }
    if (served.receive_ready) {
        Packet packet = answer_packet(PacketKind::receive_ready, qp, served.expected);
        packet.destination_qpn = peer;
        if (!link.write(packet, {}))
            return false;
        served.receive_ready = false;
    }
    return true;
}

void LinkResponder::refuse_due(QueuePair& qp, Answer answer)
{
    Served& served = qp.served_;
    if (served.due.empty())
        return;
    const std::uint32_t sequence = served.due.front().sequence;
    served.due.clear();
    served.expected = sequence; // what is before it was done; what is behind it is not told of
    served.refused = true;
    served.refusal = {answer, 0, sequence, 0};
}

void LinkResponder::give_up(QueuePair& qp)
{
    if (!qp.attributes_.link || qp.served_.due.empty())
        return;
    refuse_due(qp, Answer::nobody);
    qp.attributes_.link->want_attention(qp.number());
}

bool LinkResponder::answer_read(Link& link, QueuePair& qp, std::size_t& budget, Aftermath& after) const
{
    Served& served = qp.served_;
    Served::Due& due = served.due.front();
    do {
        if (budget == 0)
            return false;
        Request& request = due.request;
        request.offset = due.done;
        request.part = std::min<std::uint64_t>(most_payload, request.length - due.done);
        const Response response = responder_.read_part(qp, request, link.scratch_, after);
        if (response.answer != Answer::done) { // the key has gone since
            refuse_due(qp, response.answer);
            return true;
        }
        Packet packet = answer_packet(PacketKind::data, qp, due.sequence);
        packet.destination_qpn = *qp.attributes_.destination_qpn;
        packet.payload = static_cast<std::uint32_t>(request.part);
        packet.address = due.done;
        if (!link.write(packet, response.payload))
            return false;
        due.done += request.part;
        budget -= std::min<std::size_t>(budget, request.part);
    } while (due.done != due.request.length);
    return true;
}

bool LinkResponder::answer_strays(Link& link)
{
    bool sent = false;
    const std::lock_guard lock{link.attention_mutex_};
    while (!link.strays_.empty()) {
        const auto& [between, stray] = *link.strays_.begin();
        Packet packet;
        packet.kind = static_cast<std::uint8_t>(PacketKind::refused);
        packet.code = static_cast<std::uint8_t>(stray.answer);
        packet.rnr_timer = stray.rnr_timer;
        packet.source_qpn = between.first;
        packet.destination_qpn = between.second;
        packet.sequence = stray.sequence;
        packet.attempt = stray.attempt;
        if (!link.write(packet, {}))
            break;
        link.strays_.erase(link.strays_.begin());
        sent = true;
    }
    return sent;
}

void LinkResponder::forget(QueuePair& qp)
{
    Served& served = qp.served_;
    const std::shared_ptr<Link>& link = qp.attributes_.link;
    if (link && (served.refusal || !served.due.empty() || served.told != served.expected)) {
        Served::Refusal last{Answer::nobody, 0, served.told, 0};
        if (served.refusal && served.due.empty())
            last = *served.refusal;
        keep(*link, qp.number(), *qp.attributes_.destination_qpn,
             {last.sequence, last.attempt, last.answer, last.rnr_timer});
    }
    served = {};
}

} // namespace mrz::hca
