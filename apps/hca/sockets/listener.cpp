// SPDX-License-Identifier: BSD-3-Clause
#include "sockets/listener.hpp"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

namespace mrz::sockets {
namespace {

constexpr int backlog = 16;

[[noreturn]] void refuse(const std::string& path, Trouble trouble, int error, std::string limit, std::string remedy)
{
    throw Error{error,
                {.trouble = trouble,
                 .what = "listening at " + printable(path),
                 .limit = std::move(limit),
                 .remedy = std::move(remedy)}};
}

[[noreturn]] void fail(const std::string& path, const char* call)
{
    const int error = errno;
    refuse(path, error == EACCES || error == EPERM ? Trouble::permission : Trouble::internal, error,
           std::string{call} + ": " + std::strerror(error), "give a path in a folder that may be written");
}

sockaddr_un address_of(const std::string& path)
{
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.empty() || path.size() >= sizeof address.sun_path || path.find('\0') != std::string::npos)
        refuse(path, Trouble::invalid, EINVAL,
               "the path of a socket has 1 to " + std::to_string(sizeof address.sun_path - 1) + " bytes",
               "give a shorter path");
    std::memcpy(address.sun_path, path.data(), path.size());
    return address;
}

FileDescriptor make_socket(const std::string& path, int type)
{
    FileDescriptor socket{::socket(AF_UNIX, SOCK_CLOEXEC | type, 0)};
    if (!socket.valid())
        fail(path, "socket");
    return socket;
}

int connect_to(const FileDescriptor& socket, const sockaddr_un& address)
{
    while (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
        if (errno != EINTR)
            return errno;
    }
    return 0;
}

const char* remedy_of(int error)
{
    switch (error) {
    case EACCES:
    case EPERM:
        return "be the user whose process listens there, or give a path in a folder of your own";
    case EPROTOTYPE:
        return "give another path: who listens there speaks another language";
    case EAGAIN:
        return "wait until the process which listens there has heard those who came before";
    default:
        return "see that the process which listens there runs";
    }
}

//! Holds the folder of \p path: of all who listen there, one at a time looks what is at its path, and changes it.
//! None of them takes long, but whoever may read the folder may hold it, for ever: then it is done without.
FileDescriptor hold_folder(const std::string& path)
{
    using Clock = std::chrono::steady_clock;
    constexpr std::chrono::seconds patience{1};
    constexpr std::chrono::milliseconds pause{5};
    const std::filesystem::path folder = std::filesystem::path{path}.parent_path();
    FileDescriptor held{::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    const Clock::time_point end = Clock::now() + patience;
    while (held.valid() && ::flock(held.get(), LOCK_EX | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK && errno != EINTR)
            return {};
        if (Clock::now() >= end) {
            log_once(Severity::warning, "somebody holds the folder of " + printable(path) +
                                            " (flock), so that two who begin to listen there at once may both do");
            return {};
        }
        std::this_thread::sleep_for(pause);
    }
    return held;
}

void remove_what_is_left(const std::string& path, int type, const sockaddr_un& address)
{
    struct stat status {};
    if (::lstat(path.c_str(), &status) != 0) {
        if (errno == ENOENT)
            return;
        fail(path, "lstat");
    }
    if (!S_ISSOCK(status.st_mode))
        refuse(path, Trouble::busy, EEXIST, "something that is no socket is there",
               "give another path, or remove it");
    // Not blocking: whoever listens there may have no room for another client.
    const FileDescriptor probe = make_socket(path, type | SOCK_NONBLOCK);
    if (connect_to(probe, address) != ECONNREFUSED)
        refuse(path, Trouble::busy, EADDRINUSE, "a process listens there", "give another path, or end that process");
    if (::unlink(path.c_str()) != 0 && errno != ENOENT)
        fail(path, "unlink");
}

} // namespace

Listener::Listener(std::string path, int type) : path_{std::move(path)}
{
    const sockaddr_un address = address_of(path_);
    socket_ = make_socket(path_, type | SOCK_NONBLOCK);
    const FileDescriptor held = hold_folder(path_);
    remove_what_is_left(path_, type, address);
    if (::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
        fail(path_, "bind");
    struct stat status {};
    if (::listen(socket_.get(), backlog) != 0 || ::lstat(path_.c_str(), &status) != 0) {
        const int error = errno;
        ::unlink(path_.c_str());
        errno = error;
        fail(path_, "listen");
    }
    device_ = status.st_dev;
    inode_ = status.st_ino;
}

Listener::~Listener()
{
    try {
        const FileDescriptor held = hold_folder(path_);
        if (is_at_its_path())
            ::unlink(path_.c_str());
    } catch (const std::exception&) {
        // The path stays: whoever listens there next removes it.
        log(Severity::warning, "a socket is left behind");
    }
}

bool Listener::is_at_its_path() const noexcept
{
    struct stat status {};
    return ::lstat(path_.c_str(), &status) == 0 && status.st_dev == device_ && status.st_ino == inode_;
}

std::optional<FileDescriptor> Listener::accept(const Stop& stop) const
{
    while (stop.wait(socket_.get(), POLLIN) != Stop::Woken::stop) {
        Accepted next = accept_now();
        if (next.client)
            return std::move(next.client);
        if (next.has_to_wait)
            stop.wait(-1, 0, 100);
    }
    return std::nullopt;
}

Listener::Accepted Listener::accept_now() const
{
    FileDescriptor client{::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK)};
    if (client.valid())
        return {std::move(client)};
    if (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED)
        return {};
    // Of descriptors or of memory there are too few; it waits where it is.
    log_once(Severity::warning, "a client of " + printable(path_) + " has to wait: accept: " + std::strerror(errno));
    return {std::nullopt, true};
}

FileDescriptor connect(const std::string& path, int type)
{
    const sockaddr_un address = address_of(path);
    FileDescriptor socket = make_socket(path, type);
    if (const int error = connect_to(socket, address); error != 0)
        throw Error{error,
                    {.trouble = error == EACCES || error == EPERM ? Trouble::permission : Trouble::peer,
                     .what = "connecting to " + printable(path),
                     .limit = std::strerror(error),
                     .remedy = remedy_of(error)}};
    return socket;
}

} // namespace mrz::sockets
