// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! A client of vfio-user, as QEMU is one.
#pragma once

#include "sockets/listener.hpp"
#include "vfio_user/protocol.hpp"

#include <mrzone/file_descriptor.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <poll.h>
#include <sys/socket.h>

namespace mrz::test {

using vfio_user::Command;

using Bytes = std::vector<std::byte>;

//! The bytes of structures, one after the other.
template <class... Parts>
Bytes bytes_of(const Parts&... parts)
{
    Bytes bytes;
    const auto add = [&](const auto& part) {
        const auto its = std::as_bytes(std::span{&part, 1});
        bytes.insert(bytes.end(), its.begin(), its.end());
    };
    (add(parts), ...);
    return bytes;
}

struct Reply {
    vfio_user::Header header;
    Bytes payload;

    [[nodiscard]] int error() const
    {
        return (header.flags & vfio_user::flag_error) != 0 ? static_cast<int>(header.error) : 0;
    }
    template <class T>
    [[nodiscard]] T as() const
    {
        T value;
        if (payload.size() < sizeof value)
            throw std::runtime_error{"a reply that is too short"};
        std::memcpy(&value, payload.data(), sizeof value);
        return value;
    }
};

class Client {
  public:
    explicit Client(const std::string& path) : socket_{sockets::connect(path)} { set_patience(); }
    explicit Client(FileDescriptor socket) : socket_{std::move(socket)} { set_patience(); }

    //! Bytes as they are.
    void send_raw(std::span<const std::byte> bytes, std::span<const int> files = {}) const
    {
        iovec part{.iov_base = const_cast<std::byte*>(bytes.data()), .iov_len = bytes.size()};
        msghdr message{};
        message.msg_iov = &part;
        message.msg_iovlen = 1;
        std::vector<char> control(CMSG_SPACE(files.size_bytes()));
        if (!files.empty()) {
            message.msg_control = control.data();
            message.msg_controllen = control.size();
            cmsghdr* const head = CMSG_FIRSTHDR(&message);
            head->cmsg_level = SOL_SOCKET;
            head->cmsg_type = SCM_RIGHTS;
            head->cmsg_len = CMSG_LEN(files.size_bytes());
            std::memcpy(CMSG_DATA(head), files.data(), files.size_bytes());
        }
        if (::sendmsg(socket_.get(), &message, MSG_NOSIGNAL) != static_cast<ssize_t>(bytes.size()))
            throw std::runtime_error{"sendmsg"};
    }
    void send(Command command, const Bytes& payload, std::span<const int> files = {}, std::uint32_t flags = 0)
    {
        const vfio_user::Header header{.id = ++id_,
                                       .command = command,
                                       .size = static_cast<std::uint32_t>(sizeof header + payload.size()),
                                       .flags = flags,
                                       .error = 0};
        Bytes message = bytes_of(header);
        message.insert(message.end(), payload.begin(), payload.end());
        send_raw(message, files);
    }
    //! None at the end.
    [[nodiscard]] std::optional<Reply> receive() const
    {
        Reply reply;
        if (!read(std::as_writable_bytes(std::span{&reply.header, 1})))
            return std::nullopt;
        if (reply.header.size < sizeof reply.header)
            throw std::runtime_error{"a reply without a size"};
        reply.payload.resize(reply.header.size - sizeof reply.header);
        if (!read(reply.payload))
            return std::nullopt;
        return reply;
    }
    Reply call(Command command, const Bytes& payload, std::span<const int> files = {})
    {
        send(command, payload, files);
        std::optional<Reply> reply = receive();
        if (!reply)
            throw std::runtime_error{"the server has gone"};
        if (reply->header.id != id_ || reply->header.command != command || (reply->header.flags & 0xf) != 1)
            throw std::runtime_error{"a reply to something else"};
        return *reply;
    }
    //! Whether the server ends the connection.
    [[nodiscard]] bool is_ended() const
    {
        try {
            while (receive())
                ;
        } catch (const std::runtime_error&) {
            return false;
        }
        return true;
    }

    Reply agree(std::string_view capabilities =
                    R"({"capabilities": {"max_msg_fds": 16, "max_data_xfer_size": 1048576, "write_multiple": true}})")
    {
        Bytes payload = bytes_of(vfio_user::Version{});
        const auto text = std::as_bytes(std::span{capabilities});
        payload.insert(payload.end(), text.begin(), text.end());
        payload.push_back(std::byte{0});
        return call(Command::version, payload);
    }
    int map(std::uint64_t at, std::uint64_t bytes, std::optional<int> file, std::uint64_t offset = 0,
            std::uint32_t flags = 3)
    {
        const vfio_user::DmaMap request{32, flags, offset, at, bytes};
        const std::array files{file.value_or(-1)};
        return call(Command::dma_map, bytes_of(request), std::span{files}.first(file ? 1 : 0)).error();
    }
    int unmap(std::uint64_t at, std::uint64_t bytes, std::uint32_t flags = 0)
    {
        return call(Command::dma_unmap, bytes_of(vfio_user::DmaUnmap{24, flags, at, bytes})).error();
    }
    Reply read_region(std::uint32_t region, std::uint64_t offset, std::uint32_t count)
    {
        return call(Command::region_read, bytes_of(vfio_user::RegionAccess{offset, region, count}));
    }
    template <class T>
    Reply write_region(std::uint32_t region, std::uint64_t offset, T value)
    {
        return call(Command::region_write, bytes_of(vfio_user::RegionAccess{offset, region, sizeof value}, value));
    }

  private:
    //! A server that does not answer is a failure, and no test that lasts for ever.
    void set_patience() const
    {
        const timeval time{.tv_sec = 20, .tv_usec = 0};
        ::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time);
    }
    //! \return false at the end.
    bool read(std::span<std::byte> bytes) const
    {
        while (!bytes.empty()) {
            const ssize_t length = ::recv(socket_.get(), bytes.data(), bytes.size(), 0);
            if (length < 0 && errno == ECONNRESET)
                return false;
            if (length < 0)
                throw std::runtime_error{"the server does not answer"};
            if (length == 0)
                return false;
            bytes = bytes.subspan(static_cast<std::size_t>(length));
        }
        return true;
    }

    FileDescriptor socket_;
    std::uint16_t id_ = 0;
};

} // namespace mrz::test
