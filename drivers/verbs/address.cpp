// SPDX-License-Identifier: BSD-3-Clause
#include "address.hpp"

#include <cerrno>
#include <cstring>
#include <memory>

#include <arpa/inet.h>
#include <netdb.h>

namespace mrz::verbs {
namespace {

struct Freer {
    void operator()(addrinfo* list) const noexcept { ::freeaddrinfo(list); }
};

} // namespace

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
