// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! A process that is not mistaken for a later one with the same number.
#pragma once

#include <cstdint>
#include <optional>
#include <sys/types.h>

namespace mrz::app {

struct ProcessId {
    pid_t pid = 0;
    std::uint64_t start_time = 0; //!< Clock ticks after boot (field 22 of /proc/PID/stat).

    static ProcessId self();
    //! Whether it still runs; a zombie, whose memory is gone, does not.
    [[nodiscard]] bool alive() const;

    friend bool operator==(const ProcessId&, const ProcessId&) = default;
};

} // namespace mrz::app
