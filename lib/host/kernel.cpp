// SPDX-License-Identifier: BSD-3-Clause
#include <mrzone/host.hpp>

#include "parse.hpp"

#include <utility>

namespace mrz::host {
namespace {

// "6.1.0-30-amd64", "6.13-rc1": the first two numbers.
std::optional<std::pair<std::uint64_t, std::uint64_t>> to_version(std::string_view release)
{
    const std::size_t dot = release.find('.');
    if (dot == std::string_view::npos)
        return std::nullopt;
    const auto rest = release.substr(dot + 1);
    const auto major = to_number(release.substr(0, dot));
    const auto minor = to_number(rest.substr(0, rest.find_first_not_of("0123456789")));
    if (!major || !minor)
        return std::nullopt;
    return std::pair{*major, *minor};
}

} // namespace

PageShift max_registration_shift(const Root& root)
{
    const auto release = root.text("/proc/sys/kernel/osrelease");
    const auto version = release ? to_version(*release) : std::nullopt;
    return version && *version >= std::pair<std::uint64_t, std::uint64_t>{6, 13} ? PageShift{31} : PageShift{30};
}

} // namespace mrz::host
