// SPDX-License-Identifier: BSD-3-Clause
#include "vfio_user/connection.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include <poll.h>
#include <sys/socket.h>

namespace mrz::vfio_user {
namespace {

// More than a message, so that there is room behind one that is taken from the middle.
constexpr std::size_t buffer_bytes = std::size_t{2} * most_message;
// The kernel's SCM_MAX_FD (include/net/scm.h): more do not come at once, so none are lost for lack of room.
constexpr std::size_t most_files_at_once = 253;

[[noreturn]] void refuse(std::string limit)
{
    throw Error{EPROTO,
                {.trouble = Trouble::peer,
                 .what = "reading a client's messages",
                 .limit = std::move(limit),
                 .remedy = "use a client that speaks vfio-user, such as QEMU's vfio-user-pci"}};
}

std::vector<FileDescriptor> files_of(const msghdr& message)
{
    std::vector<FileDescriptor> files;
    for (const cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr;
         part = CMSG_NXTHDR(const_cast<msghdr*>(&message), const_cast<cmsghdr*>(part))) {
        if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS)
            continue;
        const std::size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        std::array<int, most_files_at_once> numbers{};
        std::memcpy(numbers.data(), CMSG_DATA(part), count * sizeof(int));
        for (std::size_t i = 0; i < count; ++i)
            files.emplace_back(numbers[i]);
    }
    return files;
}

} // namespace

Connection::Connection(FileDescriptor socket, const sockets::Stop& stop)
    : socket_{std::move(socket)}, stop_{stop}, buffer_(buffer_bytes)
{
}

std::optional<Header> Connection::header() const
{
    if (end_ - begin_ < sizeof(Header))
        return std::nullopt;
    Header header;
    std::memcpy(&header, buffer_.data() + begin_, sizeof header);
    if (header.size < sizeof header || header.size > most_message)
        refuse("a message of " + std::to_string(header.size) + " bytes, and they have " +
               std::to_string(sizeof header) + " to " + std::to_string(most_message));
    if ((header.flags & type_mask) != type_command)
        refuse("a message that is no command: this end sends none that would have an answer");
    return header;
}

void Connection::make_room()
{
    if (begin_ == 0)
        return;
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    for (Files& files : files_)
        files.last_byte -= begin_;
    end_ -= begin_;
    begin_ = 0;
}

bool Connection::fill()
{
    if (gone_ || stop_.wait(socket_.get(), POLLIN) == sockets::Stop::Woken::stop)
        return false;
    // A message that is not whole yet leaves room for the rest of it.
    if (buffer_.size() - end_ < most_message)
        make_room();
    iovec bytes{.iov_base = buffer_.data() + end_, .iov_len = buffer_.size() - end_};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int) * most_files_at_once)> control{};
    msghdr message{};
    message.msg_iov = &bytes;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    const ssize_t length = ::recvmsg(socket_.get(), &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    if (length < 0 && (errno == EAGAIN || errno == EINTR))
        return true;
    if (length <= 0)
        return false;
    end_ += static_cast<std::size_t>(length);
    if (std::vector<FileDescriptor> files = files_of(message); !files.empty())
        // A read ends with the first bytes that have descriptors: they belong to the message which its last byte is
        // of.
        files_.push_back({end_ - 1, std::move(files)});
    if ((message.msg_flags & MSG_CTRUNC) != 0)
        refuse("descriptors of a client were lost: this process has too few left (ulimit -n)");
    return true;
}

std::optional<Message> Connection::receive()
{
    while (true) {
        const std::optional<Header> next = header();
        if (next && next->size <= end_ - begin_) {
            Message message{.header = *next,
                            .payload = {buffer_.data() + begin_ + sizeof(Header), next->size - sizeof(Header)},
                            .files = {}};
            begin_ += next->size;
            while (!files_.empty() && files_.front().last_byte < begin_) {
                std::ranges::move(files_.front().files, std::back_inserter(message.files));
                files_.erase(files_.begin());
            }
            return message;
        }
        if (!fill())
            return std::nullopt;
    }
}

void Connection::send(const Header& header, std::span<const std::byte> payload)
{
    std::array<iovec, 2> parts{{{.iov_base = const_cast<Header*>(&header), .iov_len = sizeof header},
                                {.iov_base = const_cast<std::byte*>(payload.data()), .iov_len = payload.size()}}};
    while (!gone_ && parts[0].iov_len + parts[1].iov_len > 0) {
        msghdr message{};
        message.msg_iov = parts.data();
        message.msg_iovlen = parts.size();
        const ssize_t length = ::sendmsg(socket_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (length < 0 && errno == EAGAIN)
            gone_ = stop_.wait(socket_.get(), POLLOUT) == sockets::Stop::Woken::stop;
        else if (length < 0 && errno != EINTR)
            gone_ = true;
        auto sent = static_cast<std::size_t>(std::max<ssize_t>(length, 0));
        for (iovec& part : parts) {
            const std::size_t of_it = std::min(part.iov_len, sent);
            part.iov_base = static_cast<std::byte*>(part.iov_base) + of_it;
            part.iov_len -= of_it;
            sent -= of_it;
        }
    }
}

void Connection::reply(const Header& to, std::span<const std::byte> payload)
{
    if ((to.flags & flag_no_reply) != 0)
        return;
    send({.id = to.id,
          .command = to.command,
          .size = static_cast<std::uint32_t>(sizeof(Header) + payload.size()),
          .flags = type_reply,
          .error = 0},
         payload);
}

void Connection::reply_error(const Header& to, int error)
{
    if ((to.flags & flag_no_reply) != 0)
        return;
    send({.id = to.id,
          .command = to.command,
          .size = sizeof(Header),
          .flags = type_reply | flag_error,
          .error = static_cast<std::uint32_t>(error)},
         {});
}

} // namespace mrz::vfio_user
