// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! The side that is asked, over a link.
#pragma once

#include "responder.hpp"

#include <hca/link.hpp>

#include <cstddef>
#include <cstdint>

namespace mrz::hca {

//! Takes requests from a link, in order, and answers when there is room: taking never waits for room, so two engines
//! whose rings are full of requests go on. What is to be answered is kept with the queue pair, and is bounded: one
//! acknowledgement, one refusal, and as many reads and atomics as it allows.
//!
//! All functions but the last two are for who is busy with the link and holds the access lock (shared).
class LinkResponder {
  public:
    LinkResponder(const Responder& responder, const NumberTable<QueuePair>& queue_pairs,
                  const HcaOptions& options) noexcept
        : responder_{responder}, queue_pairs_{queue_pairs}, options_{options}
    {
    }

    //! Takes a request, or a further part of one, whose payload lies in \p payload.
    void take(Link& link, const Packet& packet, std::span<const Piece> payload, Aftermath& after) const;
    //! Takes a datagram, or drops it.
    void take_datagram(Link& link, const Packet& packet, std::span<const Piece> payload, Aftermath& after) const;
    //! Looks at a queue pair that a receive was posted to, or that has failed.
    void attend(Link& link, std::uint32_t qpn) const;
    //! Sends what is to be answered, as far as there is room. Whether anything was sent.
    bool answer(Link& link, Aftermath& after) const;
    //! \p qp is being reset: its link keeps what it would have answered. The access lock is held exclusively.
    static void forget(QueuePair& qp);
    //! \p qp goes to ERR by command: it reads nothing more for its peer. The access lock is held exclusively.
    static void give_up(QueuePair& qp);

  private:
    using Served = QueuePair::Served;
    using Stray = Link::Stray;

    //! The queue pair that is connected to the packet's source over \p link; null if there is none.
    [[nodiscard]] QueuePair* find(const Link& link, std::uint32_t qpn) const;
    void take_part(Link& link, QueuePair& qp, const Packet& packet, std::span<const Piece> payload,
                   Aftermath& after) const;
    [[nodiscard]] bool well_formed(const Packet& packet) const noexcept;
    //! Keeps a refusal where no queue pair does, unless there is one between the two already.
    static void keep(Link& link, std::uint32_t source_qpn, std::uint32_t destination_qpn, const Stray& stray);
    static void refuse(Link& link, QueuePair& qp, Answer answer, const Packet& packet, std::uint8_t rnr_timer = 0);
    static void list(Link& link, QueuePair& qp);
    //! True: all that \p qp has to answer was sent.
    bool answer(Link& link, QueuePair& qp, std::size_t& budget, Aftermath& after) const;
    bool answer_read(Link& link, QueuePair& qp, std::size_t& budget, Aftermath& after) const;
    static void refuse_due(QueuePair& qp, Answer answer);
    static bool answer_strays(Link& link);

    const Responder& responder_;
    const NumberTable<QueuePair>& queue_pairs_;
    const HcaOptions& options_;
};

} // namespace mrz::hca
