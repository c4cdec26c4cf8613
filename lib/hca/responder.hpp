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
    //! scratch, whose local side is left alone.
    Response execute(const Request& request, Scratch& scratch, Aftermath& after) const;
    //! Never fails: a datagram that cannot be taken is dropped.
    void deliver_datagram(const Request& request, Scratch& scratch, Aftermath& after) const;

  private:
    Response write(QueuePair& qp, const Request& request, Scratch& scratch, Aftermath& after) const;
    Response read(QueuePair& qp, const Request& request, Scratch& scratch, Aftermath& after) const;
    Response atomic(QueuePair& qp, const Request& request, Scratch& scratch, Aftermath& after) const;
    Response take_message(QueuePair& qp, const Request& request, Scratch& scratch, Aftermath& after) const;

    static Response refuse(QueuePair& qp, Answer answer, Aftermath& after);
    static Response not_ready(const QueuePair& qp);
    //! Resolves the memory behind the request's remote key into scratch.remote.
    Answer reach_remote(const QueuePair& qp, const Request& request, KeyRights needs, Direction direction,
                        Scratch& scratch) const;
    //! Takes a receive into the queue pair's inbound work. False if there is none.
    static bool take_receive(QueuePair& qp, Aftermath& after);
    //! Resolves \p length bytes of the inbound work, from byte \p skip on, into scratch.remote.
    WcStatus reach_receive(const QueuePair& qp, std::uint64_t skip, std::uint64_t length, Scratch& scratch) const;

    Bus& bus_;
    const Translator& translator_;
    const NumberTable<QueuePair>& queue_pairs_;
    const Delivery& delivery_;
    LiveCounters& counters_;
};

} // namespace mrz::hca
