// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Addresses of the system, and what people write them as.
#pragma once

#include <mrzone/host_port.hpp>

#include <cstdint>
#include <string>

#include <netinet/in.h>
#include <sys/socket.h>

namespace mrz::verbs {

//! An address of the system's.
struct SocketAddress {
    sockaddr_storage storage = {};

    [[nodiscard]] sockaddr* get() noexcept { return reinterpret_cast<sockaddr*>(&storage); }
};
//! Looks a host up. Throws Error: unsupported (EHOSTUNREACH) for one that has no address; \p doing is "connecting to
//! X".
SocketAddress resolve(const HostPort& address, const std::string& doing);
//! Every address of this machine, of IPv6 and of IPv4, or of IPv4 alone.
SocketAddress any_address(std::uint16_t port, int family) noexcept;

//! "10.0.0.1:4791", "[fe80::1]:4791".
std::string to_string(const sockaddr& address);
//! Whether it names no host.
bool is_any(const sockaddr& address) noexcept;
std::uint16_t port_of(const sockaddr& address) noexcept;

} // namespace mrz::verbs
