// SPDX-License-Identifier: BSD-3-Clause
#include "input.hpp"

#include "signals.hpp"

#include <mrzone/hugepage.hpp>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

namespace mrz::app {
namespace {

[[noreturn]] void refuse(int error_number, const std::string& path, const std::string& what)
{
    throw Error{error_number, Cause{.trouble = error_number == EACCES ? Trouble::permission : Trouble::invalid,
                                    .what = "reading " + what + " " + path,
                                    .limit = std::strerror(error_number),
                                    .remedy = "give a file that can be read, or - for standard input"}};
}

} // namespace

std::string read_input(const std::string& path, const std::string& what, std::size_t longest)
{
    FileDescriptor file;
    int fd = STDIN_FILENO;
    if (path != "-") {
        // Opening a pipe would otherwise wait for its writer where no signal can be told from a late one.
        file = FileDescriptor{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
        fd = file.get();
        if (fd < 0)
            refuse(errno, path, what);
    }
    std::string text;
    std::string buffer(std::size_t{1} << 20, '\0');
    for (;;) {
        wait_readable(fd);
        const ssize_t got = ::read(fd, buffer.data(), buffer.size());
        if (got == 0)
            return text;
        if (got < 0) {
            if (errno == EINTR || errno == EAGAIN)
                continue;
            refuse(errno, path, what);
        }
        text.append(buffer, 0, static_cast<std::size_t>(got));
        if (text.size() > longest)
            throw Error{EFBIG, Cause{.trouble = Trouble::invalid,
                                     .what = "reading " + what + " " + path,
                                     .limit = "longest input, bytes",
                                     .present = longest,
                                     .remedy = "give a shorter file"}};
    }
}

} // namespace mrz::app
