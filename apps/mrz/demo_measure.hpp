// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! The ways to have memory that mrz demo compares, each taken, registered, used, and given back.
#pragma once

#include "demo_traffic.hpp"

#include <mrzone/plan.hpp>
#include <mrzone/region.hpp>
#include <mrzone/zone.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace mrz::app {

struct Measurement {
    Plan memory_region;      //!< One key over the memory where it lies, by ibv_reg_mr's rule.
    Plan umem;               //!< The same by the umem's rule.
    std::size_t extents = 0; //!< Runs of physically contiguous memory; one a page where frames are hidden.
    double build_ms = 0;     //!< From the request to memory that is ready to use.
    bool frames_known = true;
    std::optional<std::uint64_t> built_entries = {}; //!< What the device holds for one key; none if it cannot tell.
    std::optional<CacheUse> cache = {};
};

//! What only an arena is put through.
struct ArenaUse {
    Measurement memory;
    DomainSnapshot registered; //!< While arena and zone were there.
    ArenaPhases phases;
    Traffic traffic;
    std::vector<Refused> refused;
};

//! Ordinary memory, of the machine's smallest pages.
struct PlainUse {
    std::size_t size = 0; //!< Less than asked for where the machine has too little to spare.
    Plan plan;            //!< As it was registered.
    std::optional<CacheUse> cache = {};
};

//! DpdkMemory. Throws Error: hugepages, cgroup; as Domain::register_memory(); data.
Measurement measure_dpdk(const Domain& domain, std::size_t size, std::size_t page_size);
//! Throws Error as Domain::register_memory(); data; internal (ENOMEM).
PlainUse measure_plain(const Domain& domain, std::size_t size);
//! A zone of exactly that size in an arena; data moves for \p duration. \p surplus as in ArenaOptions. Throws
//! Error as Arena::build(); data.
ArenaUse measure_arena(const Domain& domain, std::size_t size, std::size_t page_size, Surplus surplus,
                       std::chrono::duration<double> duration);

} // namespace mrz::app
