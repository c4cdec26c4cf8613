// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! The exit status of all programs of this project.
#pragma once

#include <mrzone/base.hpp>

namespace mrz::app {

//! Values are part of the programs' interface: mrz(1) documents them.
enum class ExitStatus : int {
    done = 0,
    internal = 1,
    usage = 2,
    hugepages = 3,
    locked_memory = 4,
    permission = 5,
    cgroup = 6,
    unsupported = 7,
    busy = 8,
    data = 9,
    peer = 10,
};

ExitStatus exit_status(Trouble trouble) noexcept;
//! The shell's convention for a program that a signal ended.
constexpr int exit_status_of_signal(int signal) noexcept
{
    return 128 + signal;
}

} // namespace mrz::app
