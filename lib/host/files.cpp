// SPDX-License-Identifier: BSD-3-Clause
#include "files.hpp"

#include <array>
#include <cerrno>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

namespace mrz::host {

bool read_in_chunks(const std::filesystem::path& file, const std::function<void(std::string_view)>& take)
{
    return read_in_chunks_while(file, [&take](std::string_view chunk) {
        take(chunk);
        return true;
    });
}

bool read_in_chunks_while(const std::filesystem::path& file, const std::function<bool(std::string_view)>& take)
{
    const int fd = open(file.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    struct Closer {
        int fd;
        ~Closer() { close(fd); }
    } const closer{fd};

    // Files of /proc and /sys have size 0 or one page in stat, whatever they hold: only reading to the end tells.
    std::array<char, 16384> chunk{};
    while (true) {
        const ssize_t got = read(fd, chunk.data(), chunk.size());
        if (got == 0)
            return true;
        if (got < 0) {
            if (errno != EINTR)
                return false;
        } else if (!take({chunk.data(), static_cast<std::size_t>(got)})) {
            return true;
        }
    }
}

bool is_missing(const std::filesystem::path& file)
{
    std::error_code error;
    return std::filesystem::status(file, error).type() == std::filesystem::file_type::not_found;
}

} // namespace mrz::host
