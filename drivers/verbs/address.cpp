// SPDX-License-Identifier: BSD-3-Clause
#include "address.hpp"

#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>

#include <arpa/inet.h>
#include <netdb.h>

namespace mrz::verbs {
namespace {

struct Freer {
    void operator()(addrinfo* list) const noexcept { ::freeaddrinfo(list); }
};

std::optional<std::uint16_t> to_port(std::string_view digits)
{
    std::uint16_t port = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
    if (error != std::errc{} || end != digits.data() + digits.size())
        return std::nullopt;
    return port;
}

} // namespace

std::optional<HostPort> parse_address(std::string_view address)
{
    HostPort parsed;
    std::string_view rest;
    if (address.starts_with('[')) {
        const std::size_t close = address.find(']');
        if (close == std::string_view::npos || close == 1)
            return std::nullopt;
        parsed.host = address.substr(1, close - 1);
        rest = address.substr(close + 1);
        if (!rest.empty() && !rest.starts_with(':'))
            return std::nullopt;
    } else {
        const std::size_t colon = address.find(':');
        if (colon != std::string_view::npos && address.find(':', colon + 1) != std::string_view::npos) {
            parsed.host = address; // IPv6, and no port
            return parsed;
        }
        parsed.host = address.substr(0, colon);
        rest = colon == std::string_view::npos ? std::string_view{} : address.substr(colon);
    }
    if (rest.empty())
        return parsed;
    const auto port = to_port(rest.substr(1));
    if (!port)
        return std::nullopt;
    parsed.port = *port;
    return parsed;
}

SocketAddress resolve(const HostPort& address, const std::string& doing)
{
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_NUMERICSERV;
    addrinfo* found = nullptr;
    const int error = ::getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(), &hints, &found);
    const std::unique_ptr<addrinfo, Freer> list{found};
    SocketAddress result;
    if (error != 0 || found == nullptr || found->ai_addrlen > sizeof result.storage)
        throw Error{
            EHOSTUNREACH,
            {.trouble = Trouble::unsupported,
             .what = doing,
             .limit = "host " + address.host + ": " + (error == 0 ? "it has no address" : ::gai_strerror(error)),
             .remedy = "give an address of the other side's RDMA device, or a name that leads to one"}};
    std::memcpy(&result.storage, found->ai_addr, found->ai_addrlen);
    return result;
}

SocketAddress any_address(std::uint16_t port, int family) noexcept
{
    SocketAddress result;
    if (family == AF_INET6) {
        sockaddr_in6 any{};
        any.sin6_family = AF_INET6;
        any.sin6_port = htons(port);
        std::memcpy(&result.storage, &any, sizeof any);
    } else {
        sockaddr_in any{};
        any.sin_family = AF_INET;
        any.sin_port = htons(port);
        std::memcpy(&result.storage, &any, sizeof any);
    }
    return result;
}

std::string to_string(const sockaddr& address)
{
    char text[INET6_ADDRSTRLEN] = "?";
    if (address.sa_family == AF_INET6) {
        const auto& in = reinterpret_cast<const sockaddr_in6&>(address);
        ::inet_ntop(AF_INET6, &in.sin6_addr, text, sizeof text);
        // What came by IPv4 to one who listens to both.
        if (IN6_IS_ADDR_V4MAPPED(&in.sin6_addr))
            return std::string{std::strrchr(text, ':') + 1} + ':' + std::to_string(port_of(address));
        return '[' + std::string{text} + "]:" + std::to_string(port_of(address));
    }
    if (address.sa_family == AF_INET)
        ::inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in&>(address).sin_addr, text, sizeof text);
    return std::string{text} + ':' + std::to_string(port_of(address));
}

bool is_any(const sockaddr& address) noexcept
{
    if (address.sa_family == AF_INET6)
        return IN6_IS_ADDR_UNSPECIFIED(&reinterpret_cast<const sockaddr_in6&>(address).sin6_addr);
    return reinterpret_cast<const sockaddr_in&>(address).sin_addr.s_addr == htonl(INADDR_ANY);
}

std::uint16_t port_of(const sockaddr& address) noexcept
{
    if (address.sa_family == AF_INET6)
        return ntohs(reinterpret_cast<const sockaddr_in6&>(address).sin6_port);
    return address.sa_family == AF_INET ? ntohs(reinterpret_cast<const sockaddr_in&>(address).sin_port) : 0;
}

} // namespace mrz::verbs
