// SPDX-License-Identifier: BSD-3-Clause
#include "address.hpp"

#include <mrzone/base.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <utility>

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
    std::string_view host;
    std::string_view port;
    bool has_port = false;
    if (text.starts_with('[')) {
        const std::size_t end = text.find(']');
        if (end == std::string_view::npos || (end + 1 != text.size() && text[end + 1] != ':'))
            refuse_text(what);
        host = text.substr(1, end - 1);
        has_port = end + 1 != text.size();
        port = has_port ? text.substr(end + 2) : port;
    } else {
        const std::size_t colon = text.rfind(':');
        has_port = colon != std::string_view::npos;
        host = text.substr(0, has_port ? colon : text.size());
        port = has_port ? text.substr(colon + 1) : port;
        if (host.find(':') != std::string_view::npos)
            refuse_text(what);
    }
    std::uint16_t number = 0;
    const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), number);
    if (has_port && (error != std::errc{} || end != port.data() + port.size()))
        refuse_text(what);
    if (number == 0 && !may_choose)
        refuse_text(what);
    if (!is_this_machine(std::string{host}))
        throw Error{EHOSTUNREACH,
                    {.trouble = Trouble::unsupported,
                     .what = what,
                     .limit = "the software adapter connects processes of one machine, and " + std::string{host} +
                              " is not a name of this one",
                     .remedy = "name localhost, or open a device that reaches other hosts"}};
    return number;
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
