// SPDX-License-Identifier: BSD-3-Clause
#include "signals.hpp"

#include <pthread.h>

namespace mrz::cache {

SignalsBlocked::SignalsBlocked() noexcept
{
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
}

SignalsBlocked::~SignalsBlocked()
{
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

} // namespace mrz::cache
