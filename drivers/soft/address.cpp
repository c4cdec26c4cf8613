// SPDX-License-Identifier: BSD-3-Clause
#include "address.hpp"

#include <mrzone/base.hpp>
#include <mrzone/host_port.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <optional>

#include <arpa/inet.h>
#include <strings.h>
#include <unistd.h>

namespace mrz::soft {
namespace {

[[noreturn]] void refuse_text(const std::string& what)
{
    throw Error{EINVAL,
                {.trouble = Trouble::invalid,
                 .what = what,
                 .limit = "this is no address",
                 .remedy = "write HOST:PORT, with an IPv6 address in brackets: localhost:7471, :7471, [::1]:7471"}};
}

bool is_loopback(const std::string& host)
{
    in_addr four{};
    in6_addr six{};
    if (::inet_pton(AF_INET, host.c_str(), &four) == 1)
        return (ntohl(four.s_addr) >> 24) == 127;
    return ::inet_pton(AF_INET6, host.c_str(), &six) == 1 && IN6_IS_ADDR_LOOPBACK(&six);
}

bool is_this_machine(const std::string& host)
{
    std::array<char, 256> name{};
    return host.empty() || ::strcasecmp(host.c_str(), "localhost") == 0 || is_loopback(host) ||
           (::gethostname(name.data(), name.size() - 1) == 0 && ::strcasecmp(host.c_str(), name.data()) == 0);
}

} // namespace

std::uint16_t port_of(std::string_view text, bool may_choose, const std::string& what)
{
    const std::optional<HostPort> parsed = parse_host_port(text);
    if (!parsed || (parsed->port == 0 && !may_choose))
        refuse_text(what);
    if (!is_this_machine(parsed->host))
        throw Error{EHOSTUNREACH,
                    {.trouble = Trouble::unsupported,
                     .what = what,
                     .limit = "the software adapter connects processes of one machine, and " + parsed->host +
                              " is not a name of this one",
                     .remedy = "name localhost, or open a device that reaches other hosts"}};
    return parsed->port;
}

SocketAddress socket_address(std::uint16_t port)
{
    const std::string name = "mrzone.soft." + std::to_string(port);
    SocketAddress result;
    result.address.sun_family = AF_UNIX;
    // An abstract name begins with a zero byte, and has no other end than its length.
    std::ranges::copy(name, &result.address.sun_path[1]);
    result.length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    return result;
}

} // namespace mrz::soft
