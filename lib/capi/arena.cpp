// SPDX-License-Identifier: BSD-3-Clause
#include <mrzone/mrzone.h>

#include "handles.hpp"

#include <mrzone/host.hpp>

#include <algorithm>

using namespace mrz::capi;

namespace {

mrz::ArenaOptions checked_options(const mrz_arena_options* options)
{
    const mrz_arena_options known = known_options(options, "mrz_arena_options");
    if (known.node_plus_one < 0 || (known.exact != 0 && known.surplus_percent != 0))
        refuse("the arena's options have a node_plus_one below 0, or are exact and have a surplus_percent",
               "set the whole struct to zero before its members");
    mrz::ArenaOptions arena_options{.size = known.size};
    if (known.page_size != 0)
        arena_options.page_size = known.page_size;
    if (known.node_plus_one != 0)
        arena_options.node = known.node_plus_one - 1;
    arena_options.threads = known.threads;
    if (known.exact != 0)
        arena_options.surplus = mrz::Surplus::exact();
    else if (known.surplus_percent == MRZ_SURPLUS_POOL)
        arena_options.surplus = mrz::Surplus::pool();
    else if (known.surplus_percent != 0)
        arena_options.surplus = mrz::Surplus::percent(known.surplus_percent);
    arena_options.domains = checked(known.domains, known.domain_count);
    return arena_options;
}

} // namespace

int mrz_arena_build(const char* name, const mrz_arena_options* options, mrz_arena** out)
{
    return hand_out(out,
                    [&] { return new mrz_arena{mrz::Arena::build(checked_name(name), checked_options(options))}; });
}

int mrz_arena_attach(const char* name, mrz_domain* const* domains, size_t domain_count, mrz_arena** out)
{
    return hand_out(
        out, [&] { return new mrz_arena{mrz::Arena::attach(checked_name(name), checked(domains, domain_count))}; });
}

int mrz_arena_grow(mrz_arena* arena, uint64_t size)
{
    return guarded([&] {
        checked(arena).grow(size);
        return 0;
    });
}

int mrz_arena_refresh(mrz_arena* arena)
{
    return guarded([&] {
        checked(arena).refresh();
        return 0;
    });
}

int mrz_arena_socket_id(const mrz_arena* arena)
{
    return guarded([&] { return checked(arena).socket_id(); });
}

int mrz_arena_describe(const mrz_arena* arena, mrz_arena_info* info)
{
    return guarded([&] {
        const mrz::Arena& known = checked(arena);
        const mrz::ArenaPhases phases = known.phases();
        fill(info,
             {.struct_size = 0,
              .size = known.size(),
              .windows = known.windows().size(),
              .pages_ns = nanoseconds(phases.pages),
              .frames_ns = nanoseconds(phases.frames),
              .place_ns = nanoseconds(phases.place),
              .pin_ns = nanoseconds(phases.pin),
              .tables_ns = nanoseconds(phases.tables),
              .heap_ns = nanoseconds(phases.heap)},
             "mrz_arena_info");
        return 0;
    });
}

int mrz_arena_snapshot(const mrz_arena* arena, const mrz_domain* domain, mrz_arena_counts* counts)
{
    return guarded([&] {
        const mrz::Arena& known = checked(arena);
        const mrz::ArenaSnapshot now = known.snapshot();
        mrz::TierSnapshot regions;
        if (domain != nullptr) {
            const auto in =
                std::ranges::find(now.domains, checked(domain).number(), &mrz::ArenaSnapshot::InDomain::domain);
            if (in == now.domains.end())
                refuse("the arena \"" + now.name + "\" is not in that domain", "give one that it was made with");
            regions = in->regions;
        }
        fill(counts,
             {.struct_size = 0,
              .number = now.number,
              .closed = now.closed,
              .windows = now.windows,
              .bytes = now.bytes,
              .page_size = now.page_size,
              .node_plus_one = now.node ? static_cast<std::uint64_t>(*now.node) + 1 : 0,
              .zones = now.zones,
              .regions = counts_of(regions)},
             "mrz_arena_counts");
        return 0;
    });
}

int mrz_arena_explain(const mrz_arena* arena, char* text, size_t size)
{
    return guarded([&] {
        return give_text(checked(arena).explain({.max_page_shift = mrz::host::max_registration_shift()}), text, size);
    });
}

int mrz_arena_region(const mrz_arena* arena, const mrz_domain* domain, const void* address, uint64_t length,
                     const mrz_region** out)
{
    return hand_out(out, [&] { return as_c(&checked(arena).region(checked(domain), address, length)); });
}

int mrz_arena_map_for(mrz_arena* arena, uint16_t port)
{
    return guarded([&] { return checked(arena).map_for(port) == mrz::PortMapping::mapped ? 1 : 0; });
}

int mrz_arena_close(mrz_arena* arena)
{
    return guarded([&] {
        checked(arena).close();
        return 0;
    });
}

void mrz_arena_destroy(mrz_arena* arena)
{
    delete arena;
}
