// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! The side that asks.
#pragma once

#include "responder.hpp"

#include <cstdint>

namespace mrz::hca {

//! Makes a request of a work request, and of the response what the poster is told.
class Requester {
  public:
    Requester(Bus& bus, const Translator& translator, const Responder& responder, const HcaOptions& options) noexcept
        : bus_{bus}, translator_{translator}, responder_{responder}, options_{options}
    {
    }

    struct Outcome {
        WcStatus status = WcStatus::success;
        QueuePair::Waiting waiting = QueuePair::Waiting::no; //!< If not no: nothing was done yet.
        std::uint8_t rnr_timer = 0;                          //!< How long to wait for a receive.
        std::uint64_t bytes = 0;                             //!< Moved.
    };
    //! Carries out \p work of \p qp, whose send lock is held, as is the access lock (shared).
    Outcome execute(QueuePair& qp, SendQueue::Work& work, Aftermath& after) const;

    //! Bytes that work carries, or brings back.
    [[nodiscard]] static std::uint64_t payload_length(const SendQueue::Work& work);
    //! Whether an operation may have so many.
    [[nodiscard]] WcStatus check_length(const QueuePair& qp, const SendQueue::Work& work, std::uint64_t length) const;
    //! Resolves \p length bytes of the poster's memory, from byte \p offset on, into scratch.local.
    WcStatus reach_local(const QueuePair& qp, SendQueue::Work& work, std::uint64_t offset, std::uint64_t length,
                         Scratch& scratch) const;

    //! What the peer is to compare.
    [[nodiscard]] static std::uint32_t qkey_of(const QueuePair& qp, const SendWorkRequest& work);

  private:
    Outcome send_datagram(const QueuePair& qp, Request& request, const SendWorkRequest& work, Scratch& scratch,
                          Aftermath& after) const;

    Bus& bus_;
    const Translator& translator_;
    const Responder& responder_;
    const HcaOptions& options_;
};

} // namespace mrz::hca
