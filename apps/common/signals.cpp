// SPDX-License-Identifier: BSD-3-Clause
#include "signals.hpp"

#include <atomic>

#include <poll.h>

namespace mrz::app {
namespace {

// Any thread may be the one that a signal finds.
std::atomic<int> caught = 0;
static_assert(std::atomic<int>::is_always_lock_free);
thread_local int held_depth = 0;

void remember(int signal)
{
    int none = 0;
    caught.compare_exchange_strong(none, signal);
}

constexpr int watched[] = {SIGINT, SIGTERM, SIGHUP};

//! \return the mask as it was.
sigset_t block_watched() noexcept
{
    sigset_t set;
    sigset_t before;
    sigemptyset(&set);
    for (const int signal : watched)
        sigaddset(&set, signal);
    pthread_sigmask(SIG_BLOCK, &set, &before);
    return before;
}

bool wait_readable(int fd, const timespec* most) noexcept
{
    const sigset_t before = block_watched();
    pollfd one{.fd = fd, .events = POLLIN, .revents = 0};
    bool readable = false;
    if (caught == 0)
        readable = ppoll(&one, 1, most, &before) > 0; // what is wrong with the descriptor, reading it says
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return readable;
}

} // namespace

void watch_signals()
{
    struct sigaction action {};
    sigemptyset(&action.sa_mask);
    action.sa_handler = remember;
    // No SA_RESTART: whoever waits for a lock wants to be woken.
    for (const int signal : watched) {
        struct sigaction inherited {};
        if (sigaction(signal, nullptr, &inherited) == 0 && inherited.sa_handler != SIG_IGN)
            sigaction(signal, &action, nullptr);
    }
    ignore_signals_of_output();
}

void ignore_signals_of_output()
{
    struct sigaction action {};
    sigemptyset(&action.sa_mask);
    action.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &action, nullptr);
    sigaction(SIGXFSZ, &action, nullptr);
}

int pending_interrupt() noexcept
{
    return caught;
}

void throw_if_interrupted()
{
    if (caught != 0 && held_depth == 0)
        throw Interrupted{caught};
}

void wait_readable(int fd)
{
    throw_if_interrupted();
    wait_readable(fd, nullptr);
    throw_if_interrupted();
}

bool wait_readable_or(int fd, std::chrono::milliseconds most) noexcept
{
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(most);
    const timespec time{.tv_sec = seconds.count(), .tv_nsec = std::chrono::nanoseconds{most - seconds}.count()};
    return wait_readable(fd, &time);
}

HeldSignals::HeldSignals() noexcept : before_{block_watched()}
{
    ++held_depth;
}

HeldSignals::~HeldSignals()
{
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    --held_depth;
}

} // namespace mrz::app
