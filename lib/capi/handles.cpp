// SPDX-License-Identifier: BSD-3-Clause
#include "handles.hpp"

namespace mrz::capi {
namespace {

template <class Handle>
Handle& not_null(Handle* handle, const char* what, const char* remedy)
{
    if (handle == nullptr)
        refuse(what, remedy);
    return *handle;
}

constexpr const char* no_domain = "the domain is NULL";
constexpr const char* give_domain = "give what mrz_domain_open() made";
constexpr const char* no_key = "the movable key is NULL";
constexpr const char* give_key = "give what mrz_movable_key_create() made";
constexpr const char* no_cache = "the cache is NULL";
constexpr const char* give_cache = "give what mrz_cache_create() made";
constexpr const char* no_arena = "the arena is NULL";
constexpr const char* give_arena = "give what mrz_arena_build() or mrz_arena_attach() made";

} // namespace

Domain& checked(mrz_domain* domain)
{
    return not_null(domain, no_domain, give_domain).domain;
}

const Domain& checked(const mrz_domain* domain)
{
    return not_null(domain, no_domain, give_domain).domain;
}

MovableKey& checked(mrz_movable_key* key)
{
    return not_null(key, no_key, give_key).key;
}

const MovableKey& checked(const mrz_movable_key* key)
{
    return not_null(key, no_key, give_key).key;
}

Cache& checked(mrz_cache* cache)
{
    return not_null(cache, no_cache, give_cache).cache;
}

const Cache& checked(const mrz_cache* cache)
{
    return not_null(cache, no_cache, give_cache).cache;
}

Arena& checked(mrz_arena* arena)
{
    return not_null(arena, no_arena, give_arena).arena;
}

const Arena& checked(const mrz_arena* arena)
{
    return not_null(arena, no_arena, give_arena).arena;
}

const Zone& checked(const mrz_zone* zone)
{
    return not_null(zone, "the zone is NULL", "give what mrz_zone_reserve() made").zone;
}

const Region& checked(const mrz_region* region)
{
    return not_null(as_cpp(region), "the region is NULL",
                    "give what mrz_region_register() made, or an arena or a zone lent");
}

std::vector<Domain> checked(mrz_domain* const* domains, std::size_t count)
{
    if (domains == nullptr && count > 0)
        refuse("the array of domains is NULL, but its count is not 0", "give both, or neither");
    std::vector<Domain> all;
    all.reserve(count);
    for (std::size_t i = 0; i < count; ++i)
        all.push_back(checked(static_cast<const mrz_domain*>(domains[i])));
    return all;
}

} // namespace mrz::capi
