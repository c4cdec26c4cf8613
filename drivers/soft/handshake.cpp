// SPDX-License-Identifier: BSD-3-Clause
#include "handshake.hpp"

#include <hca/wire_message.hpp>

#include <algorithm>
#include <cstring>
#include <utility>

#include <poll.h>
#include <unistd.h>

namespace mrz::soft {

std::string Greeting::text() const
{
    return printable({reinterpret_cast<const char*>(bytes.data()), length});
}

Greeting make_greeting(Greeting::Kind kind, std::uint32_t qpn, std::span<const std::byte> data)
{
    Greeting greeting;
    greeting.kind = kind;
    greeting.qpn = qpn;
    greeting.length = static_cast<std::uint8_t>(std::min(data.size(), greeting.bytes.size()));
    if (greeting.length != 0)
        std::memcpy(greeting.bytes.data(), data.data(), greeting.length);
    return greeting;
}

bool send(int socket, const Greeting& greeting, int memory) noexcept
{
    return hca::send_message(socket, std::as_bytes(std::span{&greeting, 1}), memory);
}

Received receive(int socket)
{
    using Came = hca::ReceivedMessage::Result;
    Received received;
    hca::ReceivedMessage message =
        hca::receive_message(socket, std::as_writable_bytes(std::span{&received.greeting, 1}));
    received.memory = std::move(message.descriptor);
    if (message.result == Came::nothing_yet)
        return received;
    const Greeting expected;
    if (message.result == Came::gone)
        received.result = Received::Result::gone;
    else if (message.result == Came::message && received.greeting.magic == expected.magic &&
             received.greeting.version == expected.version &&
             received.greeting.length <= received.greeting.bytes.size())
        received.result = Received::Result::greeting;
    else
        received.result = Received::Result::nonsense;
    return received;
}

ucred peer_of(int socket) noexcept
{
    ucred peer{0, static_cast<uid_t>(-1), static_cast<gid_t>(-1)};
    socklen_t length = sizeof peer;
    ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &length);
    return peer;
}

bool may_meet(const ucred& peer) noexcept
{
    return peer.uid == ::geteuid() || peer.uid == 0 || ::geteuid() == 0;
}

std::string describe(const ucred& peer)
{
    return "process " + std::to_string(peer.pid) + " of user " + std::to_string(peer.uid);
}

std::chrono::steady_clock::time_point deadline_after(std::chrono::milliseconds timeout)
{
    constexpr std::chrono::milliseconds longest = std::chrono::hours{24 * 365}; // else the sum overflows
    return std::chrono::steady_clock::now() + std::clamp(timeout, std::chrono::milliseconds{0}, longest);
}

bool wait_readable(int descriptor, std::chrono::steady_clock::time_point until)
{
    for (;;) {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
        pollfd wanted{descriptor, POLLIN, 0};
        const int ready = ::poll(&wanted, 1, static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 1 << 30)));
        if (ready > 0)
            return true;
        if (left.count() <= 0)
            return false;
    }
}

} // namespace mrz::soft
