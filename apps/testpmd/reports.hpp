// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! What the prompt shows, as text. Labels are testpmd's where it has them, since scripts read them.
#pragma once

#include "session.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace mrz::testpmd {

// reports_ports.cpp
//! Throws Error (unsupported) if the driver does not tell.
std::string port_info(Session& session, const Port& port);
//! A line a port; none: all.
std::string port_summary(const Session& session, std::optional<std::uint16_t> port = {});
//! "02:00:00:00:00:01", in upper case.
std::string address_text(const rte_ether_addr& address);
//! Throws Error (unsupported) if the driver does not tell.
std::string port_xstats(const Port& port);
//! Shows rates since the last time it was asked for.
class PortStatistics {
  public:
    //! Throws Error (unsupported) if the driver does not tell.
    std::string text(const Port& port);

  private:
    struct Last {
        std::chrono::steady_clock::time_point when;
        rte_eth_stats stats;
    };
    std::map<std::uint16_t, Last> last_;
};

// reports_forwarding.cpp
//! A block for each stream's ports, and the sum, in testpmd's form.
std::string forward_statistics(const Session& session);
//! What the next start forwards: engine, lcores, streams. Throws Error where nothing can.
std::string forward_configuration(Session& session);
//! The lcores of it. Throws Error where nothing can.
std::string lcore_configuration(const Session& session);
//! Bursts, packets that are made, and the ports' queues.
std::string queue_configuration(const Session& session);

// reports_memory.cpp
//! The arena's windows, sizes, keys, and how full its heap is.
std::string arenas(Session& session);
//! What keys over the pool cost, and beside them what the same pool in plain DPDK memory costs, of which one is
//! made for a moment where the EAL has memory to spare.
std::string plan(Session& session);
//! A picture of the arena's windows.
std::string map(Session& session);

} // namespace mrz::testpmd
