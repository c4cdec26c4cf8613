// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! A client of an EAL's telemetry, and dpdk-telemetry.py.
#pragma once

#include "run_program.hpp"

#include <nlohmann/json.hpp>

#include <cstring>
#include <poll.h>
#include <stdexcept>
#include <string>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace mrz::test {

class TelemetryClient {
  public:
    explicit TelemetryClient(const std::string& path) : fd_{::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)}
    {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        if (path.size() >= sizeof address.sun_path)
            throw std::runtime_error{"a socket's path is too long: " + path};
        path.copy(address.sun_path, path.size());
        if (::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
            throw std::runtime_error{"cannot connect to " + path + ": " + std::strerror(errno)};
        receive(); // its greeting
    }
    TelemetryClient(const TelemetryClient&) = delete;
    TelemetryClient& operator=(const TelemetryClient&) = delete;
    ~TelemetryClient() { ::close(fd_); }

    //! What is behind the command in the answer.
    nlohmann::json ask(const std::string& request)
    {
        if (::send(fd_, request.data(), request.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(request.size()))
            throw std::runtime_error{"cannot ask " + request};
        const nlohmann::json answer = nlohmann::json::parse(receive());
        return answer.at(request.substr(0, request.find(',')));
    }

  private:
    std::string receive() const
    {
        pollfd ready{.fd = fd_, .events = POLLIN, .revents = 0};
        if (::poll(&ready, 1, 60'000) != 1)
            throw std::runtime_error{"telemetry does not answer"};
        std::string text(std::size_t{1} << 16, '\0');
        const ssize_t got = ::recv(fd_, text.data(), text.size(), 0);
        text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
        return text;
    }

    int fd_;
};

//! Where an EAL with that --file-prefix listens.
inline std::string telemetry_socket_of(const std::string& prefix)
{
    return "/var/run/dpdk/" + prefix + "/dpdk_telemetry.v2";
}

constexpr const char* telemetry_script = "/usr/bin/dpdk-telemetry.py";

//! The same by DPDK's own client.
inline nlohmann::json ask_by_script(const std::string& prefix, const std::string& request)
{
    const ProgramResult result = RunningProgram{{telemetry_script, "-f", prefix}, request + "\n"}.wait();
    if (result.status != 0)
        throw std::runtime_error{"dpdk-telemetry.py: " + result.err};
    return nlohmann::json::parse(result.out).at(request.substr(0, request.find(',')));
}

} // namespace mrz::test
