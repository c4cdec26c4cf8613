// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Threads that get no signals.
#pragma once

#include <pthread.h>
#include <signal.h>

namespace mrz {

//! Blocks all signals for this thread for as long as it lives, so that threads it starts meanwhile get none: they go
//! to the application's own, no handler of its runs in ours, and no system call of ours is interrupted.
class SignalsBlocked {
  public:
    SignalsBlocked() noexcept
    {
        sigset_t all;
        ::sigfillset(&all);
        ::pthread_sigmask(SIG_SETMASK, &all, &before_);
    }
    SignalsBlocked(const SignalsBlocked&) = delete;
    SignalsBlocked& operator=(const SignalsBlocked&) = delete;
    ~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

  private:
    sigset_t before_;
};

} // namespace mrz
