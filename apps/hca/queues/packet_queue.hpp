// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Queues of Ethernet packets to be sent. There is no wire: a packet is dropped and counted, and its sender is told
//! that it is done with, as he is by an adapter whose link loses it.
#pragma once

#include "queues/work_ring.hpp"

#include <cstdint>

namespace mrz::queues {

struct PacketQueueOptions {
    std::uint32_t cq = 0;
    WorkRing ring;
    std::uint32_t uar = 0;        //!< The page of user access that its doorbell is in.
    std::uint32_t user_index = 0; //!< What its completions call it.
    bool flushes = false;         //!< In ERR, what is posted ends in error completions; else in nothing.
};

enum class PacketQueueState : std::uint8_t { reset = 0, ready = 1, error = 3 }; //!< As MLX5_SQC_STATE_….

//! Guarded by DataPath.
struct PacketQueue {
    PacketQueueOptions options;
    PacketQueueState state = PacketQueueState::reset;
    std::uint16_t consumed = 0; //!< Blocks of the ring, since it was reset.
};

} // namespace mrz::queues
