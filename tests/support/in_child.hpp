// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! A part of a test in a process of its own: for what can be done once a process (an EAL), or must not last (limits,
//! another user).
#pragma once

#include <gtest/gtest.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <string>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace mrz::test {

//! Runs \p body, whose expectations count, and ends the process without running the parent's destructors.
[[noreturn]] inline void run_and_exit(const std::function<void()>& body)
{
    try {
        body();
    } catch (const std::exception& error) {
        ADD_FAILURE() << "in a child process: " << error.what();
    }
    std::fflush(nullptr);
    _exit(testing::Test::HasFailure() ? 1 : 0);
}

//! Starts \p body in a child. Wait for it with expect_success().
inline pid_t start_child(const std::function<void()>& body)
{
    std::fflush(nullptr);
    const pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); // a test that is killed leaves nobody waiting for it
        run_and_exit(body);
    }
    EXPECT_GT(child, 0) << "fork";
    return child;
}

//! Waits for a child and returns its status as waitpid(2) gives it.
inline int wait_for(pid_t child)
{
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return status;
}

//! Waits for a child whose expectations (printed by it) must all have held.
inline void expect_success(pid_t child)
{
    const int status = wait_for(child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0)
        << "the child " << (WIFSIGNALED(status) ? "died of signal " : "failed with status ")
        << (WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
}

inline void in_child(const std::function<void()>& body)
{
    expect_success(start_child(body));
}

} // namespace mrz::test
