// SPDX-License-Identifier: BSD-3-Clause
#include "parse.hpp"

#include <charconv>

namespace mrz::host {

std::optional<std::uint64_t> to_number(std::string_view digits, int base)
{
    // from_chars takes a minus sign for signed types only, so "-1" is junk here, as it should be.
    std::uint64_t value = 0;
    const char* const end = digits.data() + digits.size();
    const auto [stopped, error] = std::from_chars(digits.data(), end, value, base);
    if (error != std::errc{} || stopped != end)
        return std::nullopt;
    return value;
}

std::optional<std::uint64_t> product(std::uint64_t a, std::uint64_t b)
{
    std::uint64_t result = 0;
    if (__builtin_mul_overflow(a, b, &result))
        return std::nullopt;
    return result;
}

std::string_view without_newline(std::string_view text)
{
    if (text.ends_with('\n'))
        text.remove_suffix(1);
    return text;
}

std::vector<std::string_view> lines(std::string_view text)
{
    text = without_newline(text);
    if (text.empty())
        return {};
    return split(text, '\n');
}

std::vector<std::string_view> words(std::string_view line)
{
    static constexpr std::string_view blanks = " \t";
    std::vector<std::string_view> result;
    for (std::size_t begin = line.find_first_not_of(blanks); begin != std::string_view::npos;) {
        const std::size_t end = line.find_first_of(blanks, begin);
        result.push_back(line.substr(begin, end - begin));
        begin = line.find_first_not_of(blanks, end);
    }
    return result;
}

std::vector<std::string_view> split(std::string_view text, char separator)
{
    std::vector<std::string_view> result;
    std::size_t begin = 0;
    for (std::size_t end = 0; (end = text.find(separator, begin)) != std::string_view::npos; begin = end + 1)
        result.push_back(text.substr(begin, end - begin));
    result.push_back(text.substr(begin));
    return result;
}

std::optional<std::string_view> field(std::string_view text, std::string_view name)
{
    for (std::string_view line : lines(text)) {
        if (!line.starts_with(name) || !line.substr(name.size()).starts_with(':'))
            continue;
        line.remove_prefix(name.size() + 1);
        const std::size_t first = line.find_first_not_of(" \t");
        if (first == std::string_view::npos)
            return std::string_view{};
        return line.substr(first, line.find_last_not_of(" \t") + 1 - first);
    }
    return std::nullopt;
}

std::optional<std::uint64_t> kilobytes(std::string_view value)
{
    const auto parts = words(value);
    if (parts.size() != 2 || parts[1] != "kB")
        return std::nullopt;
    const auto number = to_number(parts[0]);
    return number ? product(*number, 1024) : std::nullopt;
}

} // namespace mrz::host
