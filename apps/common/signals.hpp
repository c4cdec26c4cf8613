// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Signals that end a program, as exceptions at places that are fit for them, so that everything is undone.
#pragma once

#include <chrono>
#include <csignal>
#include <exception>

namespace mrz::app {

//! Thrown by throw_if_interrupted(); not an Error, since nothing was refused.
class Interrupted : public std::exception {
  public:
    explicit Interrupted(int signal) noexcept : signal_{signal} {}

    [[nodiscard]] int signal() const noexcept { return signal_; }
    [[nodiscard]] const char* what() const noexcept override { return "interrupted"; }

  private:
    int signal_;
};

//! From now on SIGINT, SIGTERM and SIGHUP are remembered instead of ending the process, and interrupt blocking calls,
//! except those that were ignored before (nohup). Then as ignore_signals_of_output().
void watch_signals();
//! SIGPIPE and SIGXFSZ are ignored: a reader who leaves, or a limit on file sizes, does not keep the program from
//! tidying up, and comes as an errno. For programs that SIGINT and the like may end at once.
void ignore_signals_of_output();
//! The first of those signals that came, or 0.
int pending_interrupt() noexcept;
//! Waits until \p fd has something to read, or has ended. Throws Interrupted, also for a signal that comes just
//! before the wait begins.
void wait_readable(int fd);
//! Waits until \p fd (none: -1) has something to read or has ended, a signal came, or \p most is over.
//! \return whether it is the first. Does not throw.
bool wait_readable_or(int fd, std::chrono::milliseconds most) noexcept;
//! Does nothing while a HeldSignals of this thread lives.
void throw_if_interrupted();

//! Holds those signals back from this thread while it lives: the kernel stops changing a pool half-way where a signal
//! is pending, and undoing must not stop half-way.
class HeldSignals {
  public:
    HeldSignals() noexcept;
    ~HeldSignals();
    HeldSignals(const HeldSignals&) = delete;
    HeldSignals& operator=(const HeldSignals&) = delete;

  private:
    sigset_t before_;
};

} // namespace mrz::app
