// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! The end of commands as events.
#pragma once

#include "firmware/command_queue.hpp"
#include "queues/event_queue.hpp"

namespace mrz {

//! Tells the event queues that want to hear of commands.
class CommandEvents final : public firmware::CommandEvents {
  public:
    explicit CommandEvents(const queues::EventQueues& queues) : queues_{queues} {}

    [[nodiscard]] bool wanted() const override;
    void commands_done(std::uint32_t slots) override;

  private:
    const queues::EventQueues& queues_;
};

} // namespace mrz
