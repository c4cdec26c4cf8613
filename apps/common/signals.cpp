// SPDX-License-Identifier: BSD-3-Clause
#include "signals.hpp"

namespace mrz::app {
namespace {

volatile std::sig_atomic_t caught = 0;
thread_local int held_depth = 0;

void remember(int signal)
{
    if (caught == 0)
        caught = signal;
}

constexpr int watched[] = {SIGINT, SIGTERM, SIGHUP};

} // namespace

void watch_signals()
{
    struct sigaction action {};
    sigemptyset(&action.sa_mask);
    action.sa_handler = remember;
    // No SA_RESTART: whoever waits for a lock wants to be woken.
    for (const int signal : watched)
        sigaction(signal, &action, nullptr);
    action.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &action, nullptr);
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

HeldSignals::HeldSignals() noexcept
{
    ++held_depth;
    sigset_t set;
    sigemptyset(&set);
    for (const int signal : watched)
        sigaddset(&set, signal);
    pthread_sigmask(SIG_BLOCK, &set, &before_);
}

HeldSignals::~HeldSignals()
{
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    --held_depth;
}

} // namespace mrz::app
