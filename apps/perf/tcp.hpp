// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! The same bytes between the same two processes over TCP: what copying costs.
#pragma once

#include "channel.hpp"
#include "line.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace mrz::perf {

struct TcpPlan {
    std::size_t size = 0;     //!< Bytes of a write to a socket.
    std::uint64_t bytes = 0;  //!< On each stream, of which each line has one: a connection, a thread at both ends.
    bool from_server = false; //!< As a read brings bytes; else as a write does.
};

//! What came of it, at one end.
struct TcpOutcome {
    double seconds = 0;
    double processor_seconds = 0;
};
struct TcpResults {
    std::uint64_t bytes = 0;
    TcpOutcome client;
    TcpOutcome server;
};

//! Connects to \p host, where the server says that it listens. Uses the memory of \p lines. Throws Error.
TcpResults tcp_as_client(Channel& channel, const std::string& host, const TcpPlan& plan, std::span<const Line> lines,
                         std::chrono::milliseconds silence);
//! Does what the client's message "tcp" says, in that memory. Throws Error.
void tcp_as_server(Channel& channel, const Json& message, const Settings& settings, std::span<const Line> lines,
                   std::chrono::milliseconds silence);

} // namespace mrz::perf
