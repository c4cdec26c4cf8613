// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! What makes work go on: send queues run, wait, fail, are flushed.
#pragma once

#include "access_lock.hpp"
#include "requester.hpp"
#include "waiting_list.hpp"

#include <cstdint>

namespace mrz::hca {

//! Lock order, outermost first. A thread holds at most one of each kind, and takes none outside of this order:
//!
//! 1. the access lock: shared for each operation, from the first look at a key to the last byte; exclusive for
//!    commands. What only commands change (tables, attributes) needs no other lock.
//! 2. a queue pair's send lock: its send queue, its waiting, its scratch memory.
//! 3. a queue pair's inbound lock: of the peer while it takes a message, or of oneself while receives are flushed.
//! 4. a receive queue's lock.   5. a completion queue's lock.   6. a cache set's lock, the waiting list's lock.
//!
//! Two queue pairs that send to each other from two threads each hold their own send lock and want the other's
//! inbound lock, which nobody holds who waits for a send lock. Failing another queue pair only sets its (atomic)
//! state; its queues are flushed in finish(), when no lock is held, as callbacks are called there.
class Traffic {
  public:
    Traffic(AccessLock& access, const NumberTable<QueuePair>& queue_pairs, const Requester& requester,
            const Delivery& delivery, const HcaOptions& options, LiveCounters& counters) noexcept
        : access_{access}, queue_pairs_{queue_pairs},
          requester_{requester}, delivery_{delivery}, options_{options}, counters_{counters}
    {
    }

    //! Runs the send queue of \p qp until it is empty or has to wait; flushes it if \p qp has failed. If it waits
    //! already, tries again only when its time has come, or if \p woken. Access (shared) and send lock are held.
    void run(QueuePair& qp, bool woken, Aftermath& after);
    //! Does what an operation left to be done. No lock is held.
    void finish(Aftermath& after);
    //! Lets queue pairs go on whose time has come. No lock is held.
    void progress();
    //! Forgets that \p qp waits. Its send lock is held, or the access lock exclusively.
    void stop_waiting(QueuePair& qp);

    [[nodiscard]] const WaitingList& waiting() const noexcept { return waiting_; }

  private:
    enum class Patience : std::uint8_t { begins, goes_on, ends };
    Patience wait(QueuePair& qp, const Requester::Outcome& outcome);
    void complete(QueuePair& qp, WcStatus status, std::uint64_t bytes, Aftermath& after);
    void flush_sends(QueuePair& qp, Aftermath& after);
    void flush(std::uint32_t qpn, Aftermath& after);
    void run_number(std::uint32_t qpn, bool woken, Aftermath& after);

    AccessLock& access_;
    const NumberTable<QueuePair>& queue_pairs_;
    const Requester& requester_;
    const Delivery& delivery_;
    const HcaOptions& options_;
    LiveCounters& counters_;
    WaitingList waiting_;
};

} // namespace mrz::hca
