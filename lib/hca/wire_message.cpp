// SPDX-License-Identifier: BSD-3-Clause
#include <hca/wire_message.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include <sys/socket.h>

namespace mrz::hca {
namespace {

//! Keeps the first descriptor that came, and closes the others. How many came.
std::size_t take_descriptors(msghdr& header, FileDescriptor& first)
{
    std::size_t taken = 0;
    for (const cmsghdr* part = CMSG_FIRSTHDR(&header); part != nullptr;
         part = CMSG_NXTHDR(&header, const_cast<cmsghdr*>(part))) {
        if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS)
            continue;
        const std::size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (std::size_t i = 0; i < count; ++i, ++taken) {
            int number = -1;
            std::memcpy(&number, CMSG_DATA(part) + i * sizeof number, sizeof number);
            FileDescriptor owned{number};
            if (taken == 0)
                std::swap(first, owned);
        }
    }
    return taken;
}

} // namespace

bool send_message(int socket, std::span<const std::byte> message, int descriptor) noexcept
{
    iovec bytes{const_cast<std::byte*>(message.data()), message.size()};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
    msghdr header{};
    header.msg_iov = &bytes;
    header.msg_iovlen = 1;
    if (descriptor >= 0) {
        header.msg_control = control.data();
        header.msg_controllen = control.size();
        cmsghdr* const part = CMSG_FIRSTHDR(&header);
        part->cmsg_level = SOL_SOCKET;
        part->cmsg_type = SCM_RIGHTS;
        part->cmsg_len = CMSG_LEN(sizeof descriptor);
        std::memcpy(CMSG_DATA(part), &descriptor, sizeof descriptor);
    }
    return ::sendmsg(socket, &header, MSG_DONTWAIT | MSG_NOSIGNAL) == static_cast<ssize_t>(message.size());
}

ReceivedMessage receive_message(int socket, std::span<std::byte> message)
{
    ReceivedMessage received;
    // A byte more than is wanted: so a longer message is known as such.
    std::array<std::byte, 1025> buffer{};
    iovec bytes{buffer.data(), std::min(message.size() + 1, buffer.size())};
    // Room for one descriptor, which with its padding is room for two: what came is all owned, and the kernel closes
    // what else was sent.
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
    msghdr header{};
    header.msg_iov = &bytes;
    header.msg_iovlen = 1;
    header.msg_control = control.data();
    header.msg_controllen = control.size();
    const ssize_t length = ::recvmsg(socket, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (length < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
        return received;
    // Even an empty message, which looks like the end, may bring some.
    const std::size_t descriptors = length < 0 ? 0 : take_descriptors(header, received.descriptor);
    if (length <= 0) {
        received.result = ReceivedMessage::Result::gone;
        return received;
    }
    received.result = ReceivedMessage::Result::other_form;
    if (static_cast<std::size_t>(length) != message.size() || descriptors > 1)
        return received;
    std::ranges::copy(std::span{buffer}.first(message.size()), message.begin());
    received.result = ReceivedMessage::Result::message;
    return received;
}

} // namespace mrz::hca
