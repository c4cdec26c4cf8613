// SPDX-License-Identifier: BSD-3-Clause
#include <mrzone/mrzone.h>

#include "handles.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>

using namespace mrz::capi;

namespace {

// Zero stands for what the library chooses.
template <class Value, class Given>
void set_unless_zero(Value& value, Given given)
{
    if (given != 0)
        value = given;
}

mrz::Watch checked_watch(std::uint32_t watch)
{
    switch (watch) {
    case MRZ_WATCH_AUTOMATIC:
        return mrz::Watch::automatic;
    case MRZ_WATCH_USERFAULTFD:
        return mrz::Watch::userfaultfd;
    case MRZ_WATCH_NONE:
        return mrz::Watch::none;
    default:
        refuse("there is no watch " + std::to_string(watch), "use a value of enum mrz_watch");
    }
}

mrz::CacheOptions checked_options(const mrz_cache_options* options)
{
    mrz::CacheOptions chosen;
    if (options == nullptr)
        return chosen;
    const mrz_cache_options known = known_options(options, "mrz_cache_options");
    if (known.reserved != 0)
        refuse("the cache's options have a reserved that is not 0",
               "set the whole struct to zero before its members");
    set_unless_zero(chosen.bytes, known.bytes);
    set_unless_zero(chosen.keys, known.keys);
    set_unless_zero(chosen.entries, known.entries);
    set_unless_zero(chosen.merge_up_to, known.merge_up_to);
    if (known.merge_up_to == MRZ_MERGE_NOTHING)
        chosen.merge_up_to = 0;
    set_unless_zero(chosen.deregister_bytes, known.deregister_bytes);
    set_unless_zero(chosen.deregister_keys, known.deregister_keys);
    set_unless_zero(chosen.batch_threads, known.batch_threads);
    chosen.grow = known.grow != 0;
    chosen.watch = checked_watch(known.watch);
    return chosen;
}

} // namespace

int mrz_cache_create(const mrz_domain* domain, const mrz_cache_options* options, mrz_cache** out)
{
    return hand_out(out, [&] { return new mrz_cache{mrz::Cache{checked(domain), checked_options(options)}}; });
}

void mrz_cache_invalidate(mrz_cache* cache, const void* address, uint64_t length)
{
    if (cache == nullptr)
        return;
    const auto begin = reinterpret_cast<std::uintptr_t>(address);
    cache->cache.invalidate({static_cast<const std::byte*>(address),
                             std::min<std::uint64_t>(length, std::numeric_limits<std::uintptr_t>::max() - begin)});
}

void mrz_cache_set_pending(mrz_cache* cache, int pending)
{
    if (cache != nullptr)
        cache->cache.set_pending(pending != 0);
}

int mrz_cache_snapshot(const mrz_cache* cache, mrz_cache_counts* info)
{
    return guarded([&] {
        const mrz::CacheSnapshot now = checked(cache).snapshot();
        fill(info,
             {.struct_size = 0,
              .number = now.number,
              .domain = now.domain,
              .hits = now.hits,
              .misses = now.misses,
              .evictions = now.evictions,
              .merges = now.merges,
              .invalidations = now.invalidations,
              .waits = now.waits,
              .deregistered = now.deregistered,
              .leases = now.leases,
              .regions = now.regions,
              .keys = now.keys,
              .bytes = now.bytes,
              .entries = now.entries,
              .budget_bytes = now.budget_bytes,
              .budget_keys = now.budget_keys,
              .budget_entries = now.budget_entries,
              .unkept = now.unkept,
              .watched = now.watched ? 1U : 0U,
              .reserved = 0},
             "mrz_cache_counts");
        return 0;
    });
}

int mrz_cache_close(mrz_cache* cache)
{
    return guarded([&] {
        checked(cache).close();
        return 0;
    });
}

void mrz_cache_destroy(mrz_cache* cache)
{
    delete cache;
}
