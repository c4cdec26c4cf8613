// SPDX-License-Identifier: BSD-3-Clause
#include "exit_status.hpp"

namespace mrz::app {

ExitStatus exit_status(Trouble trouble) noexcept
{
    switch (trouble) {
    case Trouble::internal:
        return ExitStatus::internal;
    case Trouble::invalid:
        return ExitStatus::usage;
    case Trouble::hugepages:
        return ExitStatus::hugepages;
    case Trouble::locked_memory:
        return ExitStatus::locked_memory;
    case Trouble::permission:
        return ExitStatus::permission;
    case Trouble::cgroup:
        return ExitStatus::cgroup;
    case Trouble::unsupported:
        return ExitStatus::unsupported;
    case Trouble::busy:
        return ExitStatus::busy;
    case Trouble::data:
        return ExitStatus::data;
    case Trouble::peer:
        return ExitStatus::peer;
    }
    return ExitStatus::internal;
}

} // namespace mrz::app
