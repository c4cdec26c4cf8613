// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Threads of ours get no signals. Private to this floor.
#pragma once

#include <signal.h>

namespace mrz::cache {

//! Blocks all signals for this thread, so that threads it starts get none.
class SignalsBlocked {
  public:
    SignalsBlocked() noexcept;
    SignalsBlocked(const SignalsBlocked&) = delete;
    SignalsBlocked& operator=(const SignalsBlocked&) = delete;
    ~SignalsBlocked();

  private:
    sigset_t before_;
};

} // namespace mrz::cache
