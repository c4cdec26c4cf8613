// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! ICMP echo requests out of the kernel's own network stack, as ping(8) sends them.
#pragma once

#include "dialogue.hpp"
#include "frames.hpp"
#include "network.hpp"

#include <arpa/inet.h>
#include <cerrno>
#include <netinet/in.h>
#include <string>
#include <sys/socket.h>
#include <system_error>

namespace mrz::test {

//! Whether \p host answers a request with \p payload random bytes by the same bytes and a right checksum. The kernel
//! looks for the host's Ethernet address before.
inline bool answers_echo(const NetworkNamespace& where, const std::string& host, std::size_t payload,
                         std::uint16_t sequence)
{
    const int fd = where.run([] { return ::socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_ICMP); });
    if (fd < 0)
        throw std::system_error{errno, std::generic_category(), "a raw socket"};
    Frame request = random_frame(ethernet_header + payload, sequence);
    request.erase(request.begin(), request.begin() + ethernet_header);
    // Type 8, code 0, checksum, identifier, sequence number.
    request.insert(request.begin(), {8, 0, 0, 0, 0x4d, 0x5a, 0, 0});
    write16(request, 6, sequence);
    write16(request, 2, static_cast<std::uint16_t>(~ones_sum(request)));

    sockaddr_in address{};
    address.sin_family = AF_INET;
    ::inet_pton(AF_INET, host.c_str(), &address.sin_addr);
    if (::sendto(fd, request.data(), request.size(), 0, reinterpret_cast<const sockaddr*>(&address), sizeof address) <
        0)
        throw std::system_error{errno, std::generic_category(), "sending to " + host};
    bool answered = false;
    const auto deadline = std::chrono::steady_clock::now() + patience;
    while (!answered && readable_by(fd, deadline)) {
        Frame packet(1 << 16);
        const ssize_t got = ::recv(fd, packet.data(), packet.size(), 0);
        if (got < 20 + 8)
            break;
        packet.resize(static_cast<std::size_t>(got));
        Frame answer(packet.begin() + (packet[0] & 15) * 4, packet.end());
        // The same but for its type, and so its checksum.
        const bool right = answer[0] == 0 && ones_sum(answer) == 0xffff;
        answer[0] = 8;
        write16(answer, 2, read16(request, 2));
        answered = right && answer == request;
    }
    ::close(fd);
    return answered;
}

} // namespace mrz::test
