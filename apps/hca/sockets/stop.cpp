// SPDX-License-Identifier: BSD-3-Clause
#include "sockets/stop.hpp"

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace mrz::sockets {

Stop::Stop() : event_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)}
{
    if (!event_.valid()) {
        const int error = errno;
        throw Error{error,
                    {.trouble = Trouble::internal,
                     .what = "making an event",
                     .limit = std::string{"eventfd: "} + std::strerror(error),
                     .remedy = "raise ulimit -n"}};
    }
}

void Stop::set() const noexcept
{
    const std::uint64_t one = 1;
    // It is never read, so it stays set; that it is full means that it is set.
    if (::write(event_.get(), &one, sizeof one) < 0)
        return;
}

Stop::Woken Stop::wait(int fd, short events, int milliseconds) const noexcept
{
    pollfd both[] = {{.fd = event_.get(), .events = POLLIN, .revents = 0},
                     {.fd = fd, .events = events, .revents = 0}};
    while (true) {
        const int ready = ::poll(both, 2, milliseconds);
        if (ready < 0 && errno == EINTR)
            continue;
        if (both[0].revents != 0)
            return Woken::stop;
        return ready > 0 ? Woken::ready : Woken::timeout;
    }
}

} // namespace mrz::sockets
