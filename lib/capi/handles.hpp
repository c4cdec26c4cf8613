// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! What is behind the pointers of the C API.
#pragma once

#include "arguments.hpp"

#include <mrzone/cache.hpp>
#include <mrzone/movable_key.hpp>
#include <mrzone/mrzone.h>
#include <mrzone/region.hpp>
#include <mrzone/zone.hpp>

#include <cstddef>
#include <vector>

struct mrz_domain {
    mrz::Domain domain;
};
struct mrz_movable_key {
    mrz::MovableKey key;
};
struct mrz_cache {
    mrz::Cache cache;
};
struct mrz_arena {
    mrz::Arena arena;
};
struct mrz_zone {
    mrz::Zone zone;
};

namespace mrz::capi {

//! \name What a handle stands for. Throw Error (invalid, EINVAL) for NULL.
//! \{
Domain& checked(mrz_domain* domain);
const Domain& checked(const mrz_domain* domain);
MovableKey& checked(mrz_movable_key* key);
const MovableKey& checked(const mrz_movable_key* key);
Cache& checked(mrz_cache* cache);
const Cache& checked(const mrz_cache* cache);
Arena& checked(mrz_arena* arena);
const Arena& checked(const mrz_arena* arena);
const Zone& checked(const mrz_zone* zone);
const Region& checked(const mrz_region* region);
//! \}
std::vector<Domain> checked(mrz_domain* const* domains, std::size_t count);

// mrz_region is never defined: a pointer to it is a pointer to a Region under another name. So what an arena or a
// zone keeps is lent without a handle that somebody would have to own, and const keeps it from being destroyed.
inline mrz_region* as_c(Region* region) noexcept
{
    return reinterpret_cast<mrz_region*>(region);
}
inline const mrz_region* as_c(const Region* region) noexcept
{
    return reinterpret_cast<const mrz_region*>(region);
}
inline Region* as_cpp(mrz_region* region) noexcept
{
    return reinterpret_cast<Region*>(region);
}
inline const Region* as_cpp(const mrz_region* region) noexcept
{
    return reinterpret_cast<const Region*>(region);
}

} // namespace mrz::capi
