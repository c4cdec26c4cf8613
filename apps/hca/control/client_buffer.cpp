// SPDX-License-Identifier: BSD-3-Clause
#include "control/client_buffer.hpp"

#include <array>
#include <cerrno>
#include <string_view>
#include <utility>

#include <poll.h>
#include <sys/socket.h>

namespace mrz::control {
namespace {

// For a line, and for each such part of an answer.
constexpr std::chrono::seconds patience{5};
constexpr std::size_t part_bytes = std::size_t{64} << 10;

} // namespace

ClientBuffer::ClientBuffer(FileDescriptor socket) noexcept : socket_{std::move(socket)}
{
    start_waiting();
}

void ClientBuffer::start_waiting() noexcept
{
    deadline_ = Clock::now() + patience;
}

short ClientBuffer::events() const noexcept
{
    return out_.empty() ? POLLIN : POLLOUT;
}

bool ClientBuffer::go_on(const Commands& commands)
{
    if (out_.empty() && !has_line() && !receive())
        return false;
    if (out_.empty())
        answer(commands);
    return send() && Clock::now() < deadline_;
}

bool ClientBuffer::receive()
{
    std::array<char, 4096> piece{};
    const ssize_t length = ::recv(socket_.get(), piece.data(), piece.size(), MSG_DONTWAIT);
    if (length < 0)
        return errno == EAGAIN || errno == EINTR;
    in_.append(piece.data(), static_cast<std::size_t>(length));
    return length != 0;
}

void ClientBuffer::answer(const Commands& commands)
{
    const std::size_t end = in_.find('\n');
    if (end == std::string::npos && in_.size() <= longest_line)
        return;
    Json reply;
    if (end <= longest_line) {
        reply = commands.answer(std::string_view{in_}.substr(0, end));
        in_.erase(0, end + 1);
    } else {
        reply = Commands::error(EMSGSIZE, "a line has at most " + std::to_string(longest_line) +
                                              " bytes, and this one has more: say less at once");
        ends_ = true;
    }
    // Whatever is in it: bytes that are no UTF-8 are replaced.
    out_ = reply.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n';
    start_waiting();
}

bool ClientBuffer::send()
{
    while (sent_ != out_.size()) {
        const std::string_view part = std::string_view{out_}.substr(sent_, part_bytes - sent_ % part_bytes);
        const ssize_t length = ::send(socket_.get(), part.data(), part.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (length < 0)
            return errno == EAGAIN || errno == EINTR;
        sent_ += static_cast<std::size_t>(length);
        if (sent_ % part_bytes == 0 || sent_ == out_.size())
            start_waiting();
    }
    const bool answered = !out_.empty();
    out_.clear();
    sent_ = 0;
    return !(answered && ends_);
}

} // namespace mrz::control
