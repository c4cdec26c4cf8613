// SPDX-License-Identifier: BSD-3-Clause
#include "output_file.hpp"

#include "output.hpp"

#include <mrzone/file_descriptor.hpp>

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace mrz::app {
namespace {

[[noreturn]] void refuse(int error_number, const std::string& path, const std::string& what)
{
    const bool forbidden = error_number == EACCES || error_number == EPERM || error_number == EROFS;
    throw Error{error_number, Cause{.trouble = forbidden ? Trouble::permission : Trouble::invalid,
                                    .what = "writing " + what + " to " + path,
                                    .limit = std::strerror(error_number),
                                    .remedy = "give a file that can be written, or - for standard output"}};
}

} // namespace

void write_output(const std::string& path, std::string_view text, const std::string& what)
{
    if (path == "-") {
        print_text(text);
        return;
    }
    const FileDescriptor file{::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)};
    if (file.get() < 0)
        refuse(errno, path, what);
    while (!text.empty()) {
        const ssize_t written = ::write(file.get(), text.data(), text.size());
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0) {
            const int error_number = errno;
            struct stat about {};
            if (::fstat(file.get(), &about) == 0 && S_ISREG(about.st_mode)) // not what is a device or a pipe
                ::unlink(path.c_str());
            refuse(error_number, path, what);
        }
        text.remove_prefix(static_cast<std::size_t>(written));
    }
}

} // namespace mrz::app
