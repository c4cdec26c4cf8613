// SPDX-License-Identifier: BSD-3-Clause
#include "socket.hpp"

#include <mrzone/base.hpp>

#include <charconv>
#include <filesystem>
#include <system_error>

#include <sys/socket.h>
#include <sys/un.h>

namespace mrz::telemetry {
namespace {

bool listens(int fd) noexcept
{
    int answer = 0;
    socklen_t length = sizeof answer;
    return ::getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &answer, &length) == 0 && answer != 0;
}

std::string path_of(int fd)
{
    sockaddr_un address{};
    socklen_t length = sizeof address;
    if (::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length) != 0 || address.sun_family != AF_UNIX)
        return {};
    return std::string{address.sun_path, ::strnlen(address.sun_path, sizeof address.sun_path)};
}

} // namespace

std::optional<std::string> listening_socket(std::string_view prefix)
{
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator{"/proc/self/fd", error}) {
        const std::string name = entry.path().filename();
        int fd = -1;
        std::from_chars(name.data(), name.data() + name.size(), fd);
        if (!listens(fd))
            continue;
        if (std::string path = path_of(fd); path.starts_with(prefix))
            return path;
    }
    if (error)
        throw Error{error.value(),
                    {.trouble = Trouble::internal,
                     .what = "looking for the telemetry's socket among the open files",
                     .limit = "/proc/self/fd: " + error.message(),
                     .remedy = "mount /proc"}};
    return std::nullopt;
}

} // namespace mrz::telemetry
