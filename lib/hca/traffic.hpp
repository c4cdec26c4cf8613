// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! What makes work go on: send queues run, wait, fail, are flushed.
#pragma once

#include "access_lock.hpp"
#include "link_responder.hpp"
#include "requester.hpp"
#include "waiting_list.hpp"

#include <cstdint>

namespace mrz::hca {

//! Lock order, outermost first. A thread holds at most one of each kind, and takes none outside of this order:
//!
//! 0. a link is held "busy" by whoever does its work. Nobody waits for that: who finds it busy leaves word.
//! 1. the access lock: shared for each operation, from the first look at a key to the last byte; exclusive for
//!    commands. What only commands change (tables, attributes) needs no other lock.
//! 2. a queue pair's send lock: its send queue, its waiting, its scratch memory.
//! 3. a queue pair's inbound lock: of the peer while it takes a message, or of oneself while receives are flushed.
//! 4. a receive queue's lock.   5. a completion queue's lock.   6. a cache set's lock, the waiting list's lock; a
//!    link's attention lock and, inside of that, its transmit lock.
//!
//! Two queue pairs that send to each other from two threads each hold their own send lock and want the other's
//! inbound lock, which nobody holds who waits for a send lock. Failing another queue pair only sets its (atomic)
//! state; its queues are flushed in finish(), when no lock is held, as callbacks are called there.
class Traffic {
  public:
    Traffic(AccessLock& access, const NumberTable<QueuePair>& queue_pairs, const Requester& requester,
            const LinkResponder& link_responder, const Delivery& delivery, const HcaOptions& options,
            LiveCounters& counters) noexcept
        : access_{access}, queue_pairs_{queue_pairs}, requester_{requester},
          link_responder_{link_responder}, delivery_{delivery}, options_{options}, counters_{counters}
    {
    }

    //! Runs the send queue of \p qp until it is empty or has to wait; flushes it if \p qp has failed. If it waits
    //! already, tries again only when its time has come, or if \p woken. Access (shared) and send lock are held.
    void run(QueuePair& qp, bool woken, Aftermath& after);
    //! Does what an operation left to be done. No lock is held.
    void finish(Aftermath& after);
    //! Lets queue pairs go on whose time has come. No lock is held.
    void progress();
    //! Does some of a link's work. Whether there was any. No lock is held.
    bool progress(Link& link, bool keeper);
    //! Forgets that \p qp waits. Its send lock is held, or the access lock exclusively.
    void stop_waiting(QueuePair& qp);

    [[nodiscard]] const WaitingList& waiting() const noexcept { return waiting_; }
    //! Queue pairs that are connected over links, with their timers.
    [[nodiscard]] const WaitingList& link_waiting() const noexcept { return link_waiting_; }

  private:
    enum class Patience : std::uint8_t { begins, goes_on, ends };
    Patience wait(QueuePair& qp, const Requester::Outcome& outcome);
    void complete(QueuePair& qp, WcStatus status, std::uint64_t bytes, Aftermath& after);
    void flush_sends(QueuePair& qp, Aftermath& after);
    void flush(std::uint32_t qpn, Aftermath& after);
    void run_number(std::uint32_t qpn, bool woken, Aftermath& after);

    // Over a link. traffic_link.cpp:
    bool turn(Link& link);
    bool take_packets(Link& link, Aftermath& after);
    void fail_all(Link& link, Aftermath& after);
    void let_blocked_go_on(Link& link, Aftermath& after);
    // traffic_remote.cpp; of one queue pair, whose send lock is held:
    void send(QueuePair& qp, Aftermath& after);
    [[nodiscard]] bool send_datagram(QueuePair& qp, Aftermath& after);
    [[nodiscard]] bool send_part(QueuePair& qp, Link& link, std::size_t& budget);
    void lose_link(QueuePair& qp, Aftermath& after);
    void take_answer(Link& link, const Packet& packet, std::span<const Piece> payload, Aftermath& after);
    void answered(QueuePair& qp, const Packet& packet, std::span<const Piece> payload, Aftermath& after);
    [[nodiscard]] bool answered_before(QueuePair& qp, std::uint32_t place, Aftermath& after);
    void take_data(QueuePair& qp, const Packet& packet, std::span<const Piece> payload, Aftermath& after);
    void take_refusal(QueuePair& qp, const Packet& packet, Aftermath& after);
    void go_back(QueuePair& qp, QueuePair::Waiting waiting, std::uint8_t rnr_timer, Aftermath& after);
    void complete_asked(QueuePair& qp, WcStatus status, std::uint64_t bytes, Aftermath& after);
    void report_drained(QueuePair& qp, Aftermath& after);

    AccessLock& access_;
    const NumberTable<QueuePair>& queue_pairs_;
    const Requester& requester_;
    const LinkResponder& link_responder_;
    const Delivery& delivery_;
    const HcaOptions& options_;
    LiveCounters& counters_;
    WaitingList waiting_;
    WaitingList link_waiting_;
};

} // namespace mrz::hca
