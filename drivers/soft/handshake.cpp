// SPDX-License-Identifier: BSD-3-Clause
#include "handshake.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

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
    iovec bytes{const_cast<Greeting*>(&greeting), sizeof greeting};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
    msghdr message{};
    message.msg_iov = &bytes;
    message.msg_iovlen = 1;
    if (memory >= 0) {
        message.msg_control = control.data();
        message.msg_controllen = control.size();
        cmsghdr* const header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof memory);
        std::memcpy(CMSG_DATA(header), &memory, sizeof memory);
    }
    return ::sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL) == static_cast<ssize_t>(sizeof greeting);
}

Received receive(int socket)
{
    Received received;
    // A byte more than a greeting has: so a longer message is known as such.
    std::array<char, sizeof(Greeting) + 1> buffer{};
    iovec bytes{buffer.data(), buffer.size()};
    // Room for one descriptor: the kernel closes what else is sent.
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
    msghdr message{};
    message.msg_iov = &bytes;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    const ssize_t length = ::recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (length < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
        return received;
    if (length <= 0) {
        received.result = Received::Result::gone;
        return received;
    }
    for (const cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
         header = CMSG_NXTHDR(&message, const_cast<cmsghdr*>(header))) {
        if (header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS &&
            header->cmsg_len == CMSG_LEN(sizeof(int))) {
            int number = -1;
            std::memcpy(&number, CMSG_DATA(header), sizeof number);
            received.memory = FileDescriptor{number};
        }
    }
    received.result = Received::Result::nonsense;
    if (length != static_cast<ssize_t>(sizeof(Greeting)))
        return received;
    std::memcpy(&received.greeting, buffer.data(), sizeof(Greeting));
    const Greeting expected;
    if (received.greeting.magic == expected.magic && received.greeting.version == expected.version &&
        received.greeting.length <= received.greeting.bytes.size())
        received.result = Received::Result::greeting;
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
