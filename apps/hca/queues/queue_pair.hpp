// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! A queue pair as the guest sees it, and the engine's that stands behind it.
#pragma once

#include "queues/receive_rings.hpp"
#include "queues/send_entry.hpp"
#include "queues/work_ring.hpp"

#include <hca/queue_pair.hpp>

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>

namespace mrz::queues {

struct QueuePairOptions {
    QpKind kind = QpKind::rc;
    hca::Pd pd = {};
    std::uint32_t send_cq = 0;             //!< Numbers of completion queues.
    std::uint32_t receive_cq = 0;          //!< May be the same.
    std::optional<std::uint32_t> srq = {}; //!< A shared receive queue's.
    std::optional<WorkRing> send = {};
    std::optional<WorkRing> receive = {}; //!< Without srq.
    std::uint32_t uar = 0;                //!< The page of user access that its doorbell is in.
    std::uint32_t user_index = 0xffffff;  //!< What its completions call it.
    bool privileged = false;       //!< The kernel's: its work may use the reserved key, and change keys of memory.
    bool general_services = false; //!< UD: the port's queue pair 1.
};

//! Guarded by DataPath.
struct QueuePair {
    //! An entry that the engine works on.
    struct Sent {
        std::uint64_t id;
        std::uint16_t entry; //!< Where it began.
        std::uint8_t opcode;
        bool signaled;
    };

    QueuePairOptions options;
    std::shared_ptr<hca::QueuePair> engine;
    std::shared_ptr<ReceiveRing> receives;
    //! Of those without a peer, for which the engine's stays in RESET.
    hca::QpState own_state = hca::QpState::reset;
    std::uint16_t consumed = 0; //!< Blocks of the send ring, ever.
    std::uint64_t next_id = 0;
    std::deque<Sent> sent;
    bool waits_for_sent = false; //!< What comes next does so when the engine has done all of these.
    bool has_link = false;
    SendEntry entry; //!< Room that is used again.

    [[nodiscard]] hca::QpState state() const noexcept
    {
        return options.kind == QpKind::umr ? own_state : engine->state();
    }
    //! Forgets what it was doing; the engine's has been reset.
    void reset()
    {
        own_state = hca::QpState::reset;
        consumed = 0;
        sent.clear();
        waits_for_sent = false;
        has_link = false;
    }
};

} // namespace mrz::queues
