// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Snapshots as names and values, for all who show them: telemetry, JSON, tables.
#pragma once

#include <mrzone/cache.hpp>
#include <mrzone/hugepage.hpp>
#include <mrzone/region.hpp>
#include <mrzone/zone.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace mrz {

//! One value of a snapshot. What is not known is left out.
struct Field {
    std::string name; //!< Of letters, digits and "_"; a "/" leads into a part: "look_up/regions".
    std::variant<std::uint64_t, std::string> value;
};
using Fields = std::vector<Field>;

//! Yes is 1, no is 0; sizes are bytes.
MRZ_API Fields fields_of(const DomainSnapshot& snapshot);
MRZ_API Fields fields_of(const CacheSnapshot& snapshot);
//! What is in a domain is in a part of its own, "domain_0".
MRZ_API Fields fields_of(const ArenaSnapshot& snapshot);
//! A part for each page size, in it one for the whole machine and one for each node: "2MiB/node_0/free", in pages.
MRZ_API Fields fields_of(std::span<const Pool> pools);

} // namespace mrz
