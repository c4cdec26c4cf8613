// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Where peers of the software adapter meet: "[HOST]:PORT" of this machine, an abstract Unix socket a port.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <sys/socket.h>
#include <sys/un.h>

namespace mrz::soft {

//! The port of \p text: "HOST:PORT", ":PORT", "[::1]:PORT"; where \p may_choose, "HOST" and port 0, too, which give
//! 0. Throws Error that begins with \p what: invalid (EINVAL) for what is no address, unsupported (EHOSTUNREACH) for
//! a host that is not this machine.
std::uint16_t port_of(std::string_view text, bool may_choose, const std::string& what);

//! A port's socket. The name is known in a network namespace.
struct SocketAddress {
    sockaddr_un address{};
    socklen_t length = 0;
};
SocketAddress socket_address(std::uint16_t port);

} // namespace mrz::soft
