// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! mrz plan --size: the same memory from DPDK, from mmap and in an arena, side by side.
#pragma once

#include "common/frames_note.hpp"
#include "common/output.hpp"

#include <mrzone/plan.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace mrz::app {

//! One way to have memory, as it came out.
struct KindOfMemory {
    std::string name; //!< "dpdk", "mapping", "arena".
    std::string description;
    std::string refused; //!< Why there was none; then the rest says nothing.
    bool frames_known = false;
    std::size_t extents = 0;
    Plan plan = {}; //!< One key over it where it lies.
};

struct KindsOfMemory {
    std::vector<KindOfMemory> kinds; //!< Empty where none was tried.
    std::string reason;              //!< Why none was.
    std::optional<FramesNote> note;
};

//! Takes memory three times, one after the other, and gives it back, if the pool has the pages as it is. Starts an
//! EAL then. What cannot be had is no error. Throws Interrupted.
KindsOfMemory compare_kinds(std::size_t size, std::size_t page_size);

//! A list, or null.
Json to_json(const KindsOfMemory& kinds);
std::string to_text(const KindsOfMemory& kinds);

} // namespace mrz::app
