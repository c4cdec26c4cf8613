// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! What a process may do, lowered for good: for a child of a test.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstddef>

#include <grp.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace mrz::test {

//! A user whom nobody else is, since the kernel counts what a user has pinned, and lets go of it late.
inline void become_somebody(rlim_t limit)
{
    static std::atomic<uid_t> next = 0;
    const rlimit locked{limit, limit};
    ASSERT_EQ(::setrlimit(RLIMIT_MEMLOCK, &locked), 0);
    ASSERT_EQ(::setgroups(0, nullptr), 0);
    ASSERT_EQ(::setgid(65534), 0);
    ASSERT_EQ(::setuid(1'000'000'000 + static_cast<uid_t>(::getpid()) + (next += 10'000'000)), 0);
    ::prctl(PR_SET_DUMPABLE, 1); // as a process that always was this user's
}

//! From now on a system call ends as under the profile of a container.
inline void forbid(unsigned call, unsigned error)
{
    std::array filter{
        sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
        sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
        sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const sock_fprog program{.len = filter.size(), .filter = filter.data()};
    ASSERT_EQ(::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
    ASSERT_EQ(::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

inline void forbid_io_uring(unsigned error)
{
    forbid(__NR_io_uring_setup, error);
}

} // namespace mrz::test
