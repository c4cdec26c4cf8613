// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Commands that make, change, show and destroy queues.
#pragma once

#include "firmware/command.hpp"
#include "firmware/context.hpp"
#include "queues/data_path.hpp"
#include "queues/event_queue.hpp"
#include "vfio_user/interrupts.hpp"

#include <cstdint>
#include <functional>

namespace mrz::queues {

//! What they work on; it outlives them.
struct CommandParts {
    firmware::Context context;
    DataPath& path;
    EventQueues& event_queues;
    vfio_user::Interrupts& interrupts;
};

class EventQueueCommands {
  public:
    explicit EventQueueCommands(const CommandParts& parts);
    void add_to(firmware::Commands& commands);

  private:
    void create(const firmware::Command& command);
    void query(const firmware::Command& command) const;

    const CommandParts parts_;
};

class CompletionQueueCommands {
  public:
    explicit CompletionQueueCommands(const CommandParts& parts);
    void add_to(firmware::Commands& commands);

  private:
    void create(const firmware::Command& command);
    void modify(const firmware::Command& command);
    void resize(const firmware::Command& command, std::uint32_t cqn);
    void query(const firmware::Command& command) const;

    const CommandParts parts_;
};

//! Receive memory pools (RMP), which are plain shared receive queues, and shared receive queues of extended reliable
//! connections: drivers need one to load, and no queue pair takes from it.
class SharedReceiveCommands {
  public:
    explicit SharedReceiveCommands(const CommandParts& parts);
    void add_to(firmware::Commands& commands);

  private:
    void create_rmp(const firmware::Command& command);
    void modify_rmp(const firmware::Command& command);
    void query_rmp(const firmware::Command& command) const;
    void create_xrc(const firmware::Command& command);
    void arm_xrc(const firmware::Command& command);
    void query_xrc(const firmware::Command& command) const;

    const CommandParts parts_;
};

class QueuePairCommands {
  public:
    explicit QueuePairCommands(const CommandParts& parts);
    void add_to(firmware::Commands& commands);

  private:
    void create(const firmware::Command& command);
    void modify(const firmware::Command& command);
    void leave(const firmware::Command& command, hca::QpState to);
    void query(const firmware::Command& command) const;

    const CommandParts parts_;
};

} // namespace mrz::queues
