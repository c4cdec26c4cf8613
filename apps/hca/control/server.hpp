// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! The control socket: one JSON object a line, either way.
#pragma once

#include "control/commands.hpp"
#include "sockets/listener.hpp"

#include <string>
#include <thread>

namespace mrz::control {

//! Answers one client at a time, on a thread of its own; one that is silent, or does not take its answer, for five
//! seconds has to go.
class Server {
  public:
    //! Throws as sockets::Listener. \p commands outlives it.
    Server(std::string path, const Commands& commands);
    ~Server();
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;

    static constexpr std::size_t longest_line = 1 << 16;

  private:
    void run();
    void serve(const FileDescriptor& client);
    //! \return false where the client has to go.
    bool send(const FileDescriptor& client, std::string_view text);

    const Commands& commands_;
    sockets::Listener listener_;
    sockets::Stop stop_;
    std::thread thread_;
};

} // namespace mrz::control
