// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! The side that is asked.
#pragma once

#include "delivery.hpp"
#include "number_table.hpp"

#include <hca/request.hpp>

#include <cstdint>
#include <mutex>
#include <vector>

namespace mrz::hca {

//! Carries requests out: checks everything, then moves the bytes, so that a refused request moves none.
class Responder {
  public:
    Responder(Bus& bus, const Translator& translator, const NumberTable<QueuePair>& queue_pairs,
              const Delivery& delivery, LiveCounters& counters) noexcept
        : bus_{bus}, translator_{translator}, queue_pairs_{queue_pairs}, delivery_{delivery}, counters_{counters}
    {
    }

    //! The access lock is held shared, and the inbound lock of no queue pair. The answer's payload lies in \p
    //! scratch, whose local side is left alone. Of a message that comes in parts the first one has all of it checked
    //! and takes a receive if it is for one; the last one completes it.
    Response execute(const Request& request, Scratch& scratch, Aftermath& after) const;
    //! A part of a read that execute() granted: the part of \p request.
    Response read_part(QueuePair& qp, const Request& request, Scratch& scratch, Aftermath& after) const;
    //! Ends a queue pair for what its peer asked of it.
    static Response refuse(QueuePair& qp, Answer answer, Aftermath& after);
    //! Never fails: a datagram that cannot be taken is dropped.
    void deliver_datagram(const Request& request, Scratch& scratch, Aftermath& after) const;
    void drop_datagram() const noexcept { count(counters_.datagrams_dropped); }

  private:
    Response write(QueuePair& qp, const Request& request, Scratch& scratch, Aftermath& after) const;
    Response read(QueuePair& qp, const Request& request, Scratch& scratch, Aftermath& after) const;
    Response atomic(QueuePair& qp, const Request& request, Scratch& scratch, Aftermath& after) const;
    Response take_message(QueuePair& qp, const Request& request, Scratch& scratch, Aftermath& after) const;

    static Response not_ready(const QueuePair& qp);
    //! Resolves \p length bytes of the memory behind the request's remote key, from byte \p offset on, into
    //! scratch.remote.
    Answer reach_remote(const QueuePair& qp, const Request& request, std::uint64_t offset, std::uint64_t length,
                        KeyRights needs, Direction direction, Scratch& scratch) const;
    //! Takes a receive into the queue pair's inbound work. False if there is none.
    static bool take_receive(QueuePair& qp, const Request& request, Aftermath& after);
    //! Resolves \p length bytes of the inbound work, from byte \p skip on, into scratch.remote.
    WcStatus reach_receive(const QueuePair& qp, std::uint64_t skip, std::uint64_t length, Scratch& scratch) const;

    Bus& bus_;
    const Translator& translator_;
    const NumberTable<QueuePair>& queue_pairs_;
    const Delivery& delivery_;
    LiveCounters& counters_;
};

} // namespace mrz::hca
