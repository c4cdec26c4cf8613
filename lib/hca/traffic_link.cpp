// SPDX-License-Identifier: BSD-3-Clause
#include "traffic.hpp"

#include <mutex>
#include <shared_mutex>
#include <utility>

namespace mrz::hca {
namespace {

// What one turn takes at most, so that commands get their turn and polling does not become working.
constexpr int most_packets = 64;
constexpr std::size_t most_bytes = std::size_t{256} << 10;
// Others who come by may go on leaving work; they, or the keeper, come again.
constexpr int most_turns = 16;
constexpr int most_last_turns = static_cast<int>(WireMemory::ring_bytes / ring_unit) / most_packets + 1;

} // namespace

bool Traffic::progress(Link& link, bool keeper)
{
    bool worked = false;
    link.again_.store(true);
    // Who comes meanwhile need not wait: that there is more to do is looked at once more when it is no longer busy.
    int turns = 0;
    for (; turns < most_turns && link.again_.load() && !link.busy_.exchange(true); ++turns) {
        struct Release {
            std::atomic<bool>& busy;
            ~Release() { busy.store(false); }
        } const release{link.busy_};
        link.again_.store(false);
        worked = turn(link) || worked;
    }
    if (turns == most_turns && link.again_.load())
        link.unfinished_.store(true);
    if (!keeper && !link.ended() && link.unfinished_.load())
        link.call_keeper();
    return worked;
}

bool Traffic::turn(Link& link)
{
    if (link.ended())
        return false;
    Aftermath after;
    bool worked = false;
    link.unfinished_.store(false);
    {
        const std::shared_lock access{access_};
        if (link.is_broken())
            link.end("what the peer says that it has read makes no sense", true);
        const bool ending = !link.open();
        worked = take_packets(link, after);
        {
            const std::lock_guard lock{link.attention_mutex_};
            std::swap(link.attention_, link.resting_);
        }
        for (const std::uint32_t qpn : link.resting_)
            link_responder_.attend(link, qpn);
        link.resting_.clear();
        // What the peer wrote before its end counts; but it may be there still, and never stop.
        if (ending && (!worked || link.deaf_.load() || ++link.last_turns_ > most_last_turns)) {
            // First: whose queue is empty when it is looked at sees by himself that the link has ended.
            link.phase_.store(Link::Phase::ended);
            fail_all(link, after);
            let_blocked_go_on(link, after); // datagrams
            worked = true;
        } else {
            link.waits_for_room_.store(false);
            worked = link_responder_.answer(link, after) || worked;
            let_blocked_go_on(link, after);
            if (worked && link.wire_->in().wakes_writer())
                link.wire_->wake();
            if (ending)
                link.leave_work();
        }
    }
    finish(after);
    return worked;
}

bool Traffic::take_packets(Link& link, Aftermath& after)
{
    std::size_t bytes = 0;
    for (int packets = 0; packets < most_packets && bytes < most_bytes; ++packets) {
        if (link.deaf_.load(std::memory_order_relaxed))
            return packets != 0;
        Packet packet;
        RingReader& in = link.wire_->in();
        switch (in.peek(packet)) {
        case RingReader::Next::nothing:
            return packets != 0;
        case RingReader::Next::nonsense:
            link.end("what the peer wrote makes no sense", true);
            return true;
        case RingReader::Next::packet:
            break;
        }
        const RingPieces payload = in.payload();
        bytes += packet.payload;
        link.packets_received_.fetch_add(1, std::memory_order_relaxed);
        link.bytes_received_.fetch_add(packet.payload, std::memory_order_relaxed);
        switch (static_cast<PacketKind>(packet.kind)) {
        case PacketKind::request:
        case PacketKind::more:
            link_responder_.take(link, packet, payload.span(), after);
            break;
        case PacketKind::datagram:
            link_responder_.take_datagram(link, packet, payload.span(), after);
            break;
        case PacketKind::done:
        case PacketKind::original:
        case PacketKind::data:
        case PacketKind::refused:
        case PacketKind::receive_ready:
            take_answer(link, packet, payload.span(), after);
            break;
        default:
            link.end("the peer sent a packet of an unknown kind", true);
            return true;
        }
        in.pop();
    }
    link.leave_work(); // there may be more
    return true;
}

void Traffic::fail_all(Link& link, Aftermath& after)
{
    for (const auto& [qpn, qp] : queue_pairs_.all()) {
        if (qp->attributes_.link.get() != &link)
            continue;
        const std::lock_guard send{qp->send_mutex_};
        lose_link(*qp, after);
    }
}

void Traffic::let_blocked_go_on(Link& link, Aftermath& after)
{
    {
        const std::lock_guard lock{link.transmit_};
        if (link.blocked_.empty())
            return;
        if (!link.ended() && !link.wire_->out().has_room(most_payload) && link.arm_room())
            return;
        std::swap(link.blocked_, link.resting_);
    }
    for (const std::uint32_t qpn : link.resting_) {
        const std::shared_ptr<QueuePair>* const found = queue_pairs_.find(qpn);
        if (found == nullptr)
            continue;
        const std::lock_guard lock{(*found)->send_mutex_};
        (*found)->asked_.blocked = false;
        run(**found, false, after);
    }
    link.resting_.clear();
}

} // namespace mrz::hca
