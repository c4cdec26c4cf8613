// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Whether the kernel tells of memory that goes away.
#pragma once

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace mrz::test {

inline bool may_watch()
{
    const int fd = static_cast<int>(::syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY));
    if (fd >= 0)
        ::close(fd);
    return fd >= 0;
}

} // namespace mrz::test
