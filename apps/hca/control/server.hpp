// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! The control socket: one JSON object a line, either way.
#pragma once

#include "control/client_buffer.hpp"
#include "control/commands.hpp"
#include "sockets/listener.hpp"

#include <chrono>
#include <list>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <poll.h>

namespace mrz::control {

//! Answers its clients in turn, a line of each, on a thread of its own. Who does not bring a line to its end, or does
//! not take his answer, for five seconds has to go. Beyond most_clients they wait until one goes.
class Server {
  public:
    //! Throws as sockets::Listener. \p commands outlives it.
    Server(std::string path, const Commands& commands);
    ~Server();
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;

    static constexpr std::size_t most_clients = 16;

  private:
    using Clock = ClientBuffer::Clock;

    void run();
    //! Returns when there is something to do. False at the end.
    [[nodiscard]] bool wait();
    void accept();

    const Commands& commands_;
    sockets::Listener listener_;
    sockets::Stop stop_;
    // Used by the thread:
    std::list<ClientBuffer> clients_;
    std::vector<pollfd> descriptors_;
    std::optional<Clock::time_point> accepts_from_; //!< Since there was no descriptor for a client.
    std::thread thread_;
};

} // namespace mrz::control
