// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! The two ways to have memory that mrz demo compares, each taken, looked at, and given back.
#pragma once

#include <mrzone/plan.hpp>

#include <cstddef>

namespace mrz::app {

struct Measurement {
    Plan memory_region;      //!< One key over the memory where it lies, by ibv_reg_mr's rule.
    Plan umem;               //!< The same by the umem's rule.
    std::size_t extents = 0; //!< Runs of physically contiguous memory; one a page where frames are hidden.
    double build_ms = 0;     //!< From the request to memory that is ready to use.
    bool frames_known = true;
};

//! A memzone of the EAL's own memory. Aligned to the page size, which is kind to DPDK: an ordinary one begins in the
//! middle of a page and touches one page more. Throws Error: hugepages, cgroup.
Measurement measure_dpdk(std::size_t size, std::size_t page_size);
//! A zone of exactly that size in an arena. \p slack_percent as in ArenaOptions. Throws Error as Arena::build().
Measurement measure_arena(std::size_t size, std::size_t page_size, unsigned slack_percent);

} // namespace mrz::app
