// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Whole Ethernet frames to and from an interface of this host.
#pragma once

#include "dialogue.hpp"
#include "frames.hpp"
#include "network.hpp"

#include <arpa/inet.h>
#include <cstdint>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <optional>
#include <string>
#include <sys/socket.h>
#include <system_error>
#include <vector>

namespace mrz::test {

class PacketSocket {
  public:
    PacketSocket(const NetworkNamespace& where, const std::string& interface)
    {
        where.run([&] {
            fd_ = ::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
            sockaddr_ll address{};
            address.sll_family = AF_PACKET;
            address.sll_protocol = htons(ETH_P_ALL);
            address.sll_ifindex = static_cast<int>(::if_nametoindex(interface.c_str()));
            const int yes = 1;
            const int room = 64 << 20;
            if (fd_ < 0 || address.sll_ifindex == 0 ||
                ::setsockopt(fd_, SOL_PACKET, PACKET_IGNORE_OUTGOING, &yes, sizeof yes) != 0 ||
                ::setsockopt(fd_, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof room) != 0 ||
                ::bind(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
                throw std::system_error{errno, std::generic_category(), "a packet socket on " + interface};
        });
    }
    PacketSocket(const PacketSocket&) = delete;
    PacketSocket& operator=(const PacketSocket&) = delete;
    ~PacketSocket() { ::close(fd_); }

    //! As long as the frame is, without its checksum. Throws where the interface does not take it.
    void send(const Frame& frame) const
    {
        if (::send(fd_, frame.data(), frame.size(), 0) != static_cast<ssize_t>(frame.size()))
            throw std::system_error{errno, std::generic_category(),
                                    "sending " + std::to_string(frame.size()) + " bytes"};
    }
    //! The next frame that came in; none if time runs out.
    [[nodiscard]] std::optional<Frame> receive(std::chrono::milliseconds bound = patience) const
    {
        if (!readable_by(fd_, std::chrono::steady_clock::now() + bound))
            return std::nullopt;
        Frame frame(1 << 16);
        const ssize_t got = ::recv(fd_, frame.data(), frame.size(), 0);
        if (got < 0)
            throw std::system_error{errno, std::generic_category(), "receiving"};
        frame.resize(static_cast<std::size_t>(got));
        return frame;
    }

  private:
    int fd_ = -1;
};

} // namespace mrz::test
