// SPDX-License-Identifier: BSD-3-Clause
#include <mrzone/host_port.hpp>

#include <charconv>

namespace mrz {
namespace {

std::optional<std::uint16_t> to_port(std::string_view digits)
{
    std::uint16_t port = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
    if (error != std::errc{} || end != digits.data() + digits.size())
        return std::nullopt;
    return port;
}

} // namespace

std::optional<HostPort> parse_host_port(std::string_view address)
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

} // namespace mrz
