// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Commands of an Ethernet port's packets: queues, and what leads packets to and from them. All that they make is
//! real but for the packets: none comes, and none gets further than its send queue.
#pragma once

#include "firmware/command.hpp"
#include "queues/commands.hpp"

namespace mrz::ethernet {

//! Send queues (SQ).
class SendQueueCommands {
  public:
    explicit SendQueueCommands(const queues::CommandParts& parts);
    void add_to(firmware::Commands& commands);

  private:
    void create(const firmware::Command& command);
    void modify(const firmware::Command& command);
    void query(const firmware::Command& command) const;

    const queues::CommandParts parts_;
};

//! Receive queues (RQ).
class ReceiveQueueCommands {
  public:
    explicit ReceiveQueueCommands(const queues::CommandParts& parts);
    void add_to(firmware::Commands& commands);

  private:
    void create(const firmware::Command& command);
    void modify(const firmware::Command& command);
    void query(const firmware::Command& command) const;

    const firmware::Context context_;
};

//! Tables of receive queues that packets are spread over (RQT).
void add_queue_tables(firmware::Commands& commands, const firmware::Context& context);
//! How packets are sent (TIS).
void add_ways_to_send(firmware::Commands& commands, const firmware::Context& context);
//! Which queue takes a packet (TIR).
void add_ways_to_receive(firmware::Commands& commands, const firmware::Context& context);

} // namespace mrz::ethernet
