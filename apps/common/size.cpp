// SPDX-License-Identifier: BSD-3-Clause
#include "size.hpp"

#include <mrzone/base.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>

namespace mrz::app {
namespace {

[[noreturn]] void refuse(int error_number, std::string_view text, std::string_view what, std::string_view limit)
{
    throw Error{error_number, Cause{.trouble = Trouble::invalid,
                                    .what = fmt::format("{} \"{}\"", what, text),
                                    .limit = std::string{limit},
                                    .remedy = "write it as 1G, 512M, 2MiB or a number of bytes"}};
}

bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

} // namespace

std::size_t parse_size(std::string_view text, std::string_view what)
{
    // CLI11 reads the number with strtoull, which takes signs and octal and does not say when it overflows.
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error == std::errc::result_out_of_range)
        refuse(ERANGE, text, what, "sizes below 2^64 bytes");
    if (error != std::errc{})
        refuse(EINVAL, text, what, "a whole number with a unit");

    const std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
    std::string plain = fmt::format("{}{}", number, unit);
    if (unit.empty())
        return number;
    // Else CLI11 would take "0x10" for a number without a unit.
    const std::size_t name = std::min(unit.find_first_not_of(' '), unit.size());
    if (!std::all_of(unit.begin() + static_cast<std::ptrdiff_t>(name), unit.end(), is_letter))
        refuse(EINVAL, text, what, fmt::format("units such as K, M, G, MiB; \"{}\" is none", unit));
    try {
        if (const std::string message = CLI::AsSizeValue{false}(plain); !message.empty())
            refuse(EINVAL, text, what, message);
    } catch (const CLI::Error& failure) {
        refuse(EINVAL, text, what, failure.what());
    }
    const char* const last = plain.data() + plain.size();
    if (const auto read = std::from_chars(plain.data(), last, number); read.ec != std::errc{} || read.ptr != last)
        refuse(ERANGE, text, what, "sizes below 2^64 bytes");
    return number;
}

std::string size_argument(std::size_t bytes)
{
    constexpr std::string_view units = "KMGT";
    std::size_t unit = 0;
    while (unit < units.size() && bytes != 0 && bytes % 1024 == 0) {
        bytes /= 1024;
        ++unit;
    }
    return unit == 0 ? fmt::format("{}", bytes) : fmt::format("{}{}", bytes, units[unit - 1]);
}

} // namespace mrz::app
