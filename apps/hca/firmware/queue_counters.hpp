// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Sets of counters that queue pairs are given to. The engine counts for the whole device, so every set shows the
//! same numbers, each from when it was made or cleared; `max_qp_cnt` is 0, so that RDMA drivers do not show them.
#pragma once

#include "firmware/context.hpp"

namespace mrz::firmware {

class QueueCounters final : public Object {
  public:
    static constexpr Kind kind = Kind::q_counter;
    QueueCounters(std::uint32_t number, std::uint16_t uid, const hca::HcaCounters& now)
        : Object{kind, number, uid}, start{now}
    {
    }

    hca::HcaCounters start;
};

void add_queue_counters(Commands& commands, const Context& context);

} // namespace mrz::firmware
