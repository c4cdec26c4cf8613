// SPDX-License-Identifier: BSD-3-Clause
#include "fabric/greeting.hpp"

#include <mrzone/base.hpp>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <sys/socket.h>

namespace mrz::fabric {

std::string Greeting::why() const
{
    return printable({text.data(), std::min<std::size_t>(length, text.size())});
}

Greeting make_greeting(Greeting::Kind kind, const PortAddress& own, std::string_view why)
{
    Greeting greeting;
    greeting.kind = kind;
    greeting.lid = own.lid;
    greeting.guid = own.guid;
    greeting.length = static_cast<std::uint16_t>(why.copy(greeting.text.data(), greeting.text.size()));
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
    if (received.greeting.magic == expected.magic && received.greeting.version == expected.version)
        received.result = Received::Result::greeting;
    return received;
}

} // namespace mrz::fabric
