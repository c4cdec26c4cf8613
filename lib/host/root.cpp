// SPDX-License-Identifier: BSD-3-Clause
#include <mrzone/host.hpp>

#include "parse.hpp"

#include <array>
#include <cerrno>

#include <fcntl.h>
#include <unistd.h>

namespace mrz::host {

std::filesystem::path Root::operator()(std::string_view absolute) const
{
    // An absolute right-hand side of operator/ would replace the prefix.
    const auto first = absolute.find_first_not_of('/');
    return first == std::string_view::npos ? prefix_ : prefix_ / absolute.substr(first);
}

std::optional<std::string> Root::text(std::string_view absolute) const
{
    const int fd = open((*this)(absolute).c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return std::nullopt;
    struct Closer {
        int fd;
        ~Closer() { close(fd); }
    } const closer{fd};

    // Files of /proc and /sys have size 0 or one page in stat, whatever they hold: only reading to the end tells.
    std::string text;
    std::array<char, 16384> chunk{};
    while (true) {
        const ssize_t got = read(fd, chunk.data(), chunk.size());
        if (got == 0)
            return text;
        if (got > 0)
            text.append(chunk.data(), static_cast<std::size_t>(got));
        else if (errno != EINTR)
            return std::nullopt;
    }
}

std::optional<std::uint64_t> Root::number(std::string_view absolute) const
{
    const auto whole = text(absolute);
    if (!whole)
        return std::nullopt;
    std::string_view digits = *whole;
    if (digits.ends_with('\n'))
        digits.remove_suffix(1);
    return to_number(digits);
}

} // namespace mrz::host
