// SPDX-License-Identifier: BSD-3-Clause
#include <mrzone/base.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>

namespace mrz {
namespace {

std::string number_or_unknown(std::optional<std::uint64_t> number)
{
    return number ? std::to_string(*number) : "unknown";
}

std::string to_line(const Cause& cause)
{
    std::string line = cause.what;
    if (!cause.limit.empty()) {
        line += ": " + cause.limit;
        if (cause.present || cause.need)
            line += " is " + number_or_unknown(cause.present);
        if (cause.need)
            line += ", needed " + std::to_string(*cause.need);
    }
    if (!cause.remedy.empty())
        line += "; " + cause.remedy;
    return line;
}

} // namespace

Error::Error(int error_number, Cause cause)
    : std::runtime_error{to_line(cause)}, error_number_{error_number}, cause_{std::move(cause)}
{
}

std::string format_size(std::uint64_t bytes)
{
    static constexpr std::array units = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    std::size_t unit = 0;
    while (unit + 1 < units.size() && bytes >> (10 * (unit + 1)) != 0)
        ++unit;
    const double value = static_cast<double>(bytes) / static_cast<double>(std::uint64_t{1} << (10 * unit));
    std::array<char, 32> text{};
    // Three decimals at most, and none where the number is whole: 1.5 GiB, 513 MiB.
    std::snprintf(text.data(), text.size(), "%.3f", value);
    std::string digits{text.data()};
    digits.erase(digits.find_last_not_of('0') + 1);
    if (digits.back() == '.')
        digits.pop_back();
    return digits + ' ' + units[unit];
}

std::string format_hex(std::uint64_t value)
{
    std::array<char, 16> digits{};
    const auto [end, error] = std::to_chars(digits.begin(), digits.end(), value, 16);
    return "0x" + std::string{digits.begin(), end};
}

std::string printable(std::string_view text)
{
    std::string safe{text};
    std::ranges::replace_if(
        safe, [](char c) { return c < ' ' || c > '~'; }, '?');
    return safe;
}

} // namespace mrz
