// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Bytes moved by a device's keys, with all of it checked.
#pragma once

#include <mrzone/region.hpp>
#include <mrzone/zone.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mrz::app {

//! What moving data came to.
struct Traffic {
    std::uint64_t operations = 0;
    std::uint64_t bytes = 0;
    double seconds = 0;
};

//! Look-ups of the device's cache of translation entries.
struct CacheUse {
    std::uint64_t reads = 0; //!< Operations that caused them.
    std::uint64_t hits = 0;
    std::uint64_t misses = 0;
};

//! Something that must not work, and how it ended.
struct Refused {
    std::string attempt;
    WcStatus status = WcStatus::success;
};

//! For that long writes to random places of \p zone, which grants its peers reading and writing, and reads back what
//! it wrote; bytes go from and to \p scratch, another zone of the arena, at least twice the longest transfer long.
//! Throws Error (data) if a byte differs or an operation fails; Interrupted.
Traffic move_data(const Domain& domain, const Zone& zone, const Zone& scratch,
                  std::chrono::duration<double> duration);
inline constexpr std::size_t longest_transfer = std::size_t{64} << 10;

//! Reads 64 bytes at random places of \p region, which grants reading to peers, and counts look-ups in the device's
//! cache; nothing where the device cannot tell. Throws Error (data) if a byte differs.
std::optional<CacheUse> read_at_random(const Region& region);

//! Tries what must be refused: a byte past a zone, a write where reading is granted, a key that is no more. Throws
//! Error (data) if one of them works, or if a byte changes.
std::vector<Refused> try_what_is_refused(const Domain& domain, Arena& arena, const Zone& scratch);

} // namespace mrz::app
