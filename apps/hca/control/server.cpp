// SPDX-License-Identifier: BSD-3-Clause
#include "control/server.hpp"

#include <array>
#include <cerrno>
#include <string_view>
#include <utility>

#include <poll.h>
#include <sys/socket.h>

namespace mrz::control {
namespace {

constexpr int patience = 5000; // milliseconds

} // namespace

Server::Server(std::string path, const Commands& commands) : commands_{commands}, listener_{std::move(path)}
{
    thread_ = std::thread{[this] { run(); }};
}

Server::~Server()
{
    stop_.set();
    thread_.join();
}

void Server::run()
{
    while (const std::optional<FileDescriptor> client = listener_.accept(stop_)) {
        try {
            serve(*client);
        } catch (const std::exception& error) {
            log(Severity::warning, std::string{"the control socket: "} + error.what());
        }
    }
}

void Server::serve(const FileDescriptor& client)
{
    std::string text;
    std::array<char, 4096> piece{};
    while (text.size() <= longest_line) {
        if (stop_.wait(client.get(), POLLIN, patience) != sockets::Stop::Woken::ready)
            return;
        const ssize_t length = ::recv(client.get(), piece.data(), piece.size(), 0);
        if (length < 0 && (errno == EAGAIN || errno == EINTR))
            continue;
        if (length <= 0)
            return;
        text.append(piece.data(), static_cast<std::size_t>(length));
        for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n')) {
            const std::string_view line = std::string_view{text}.substr(0, end);
            // Whatever is in it: bytes that are no UTF-8 are replaced.
            if (!send(client, commands_.answer(line).dump(-1, ' ', false, Json::error_handler_t::replace) + '\n'))
                return;
            text.erase(0, end + 1);
        }
    }
    const Json refusal{{"error", "a line has at most " + std::to_string(longest_line) + " bytes"},
                       {"errno", EMSGSIZE}};
    send(client, refusal.dump() + '\n');
}

bool Server::send(const FileDescriptor& client, std::string_view text)
{
    while (!text.empty()) {
        const ssize_t length = ::send(client.get(), text.data(), text.size(), MSG_NOSIGNAL);
        if (length >= 0)
            text.remove_prefix(static_cast<std::size_t>(length));
        else if (errno == EAGAIN) {
            if (stop_.wait(client.get(), POLLOUT, patience) != sockets::Stop::Woken::ready)
                return false;
        } else if (errno != EINTR) {
            return false;
        }
    }
    return true;
}

} // namespace mrz::control
