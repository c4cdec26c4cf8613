// SPDX-License-Identifier: BSD-3-Clause
#include <mrzone/mrzone.h>

#include "handles.hpp"

#include <mrzone/host.hpp>

using namespace mrz::capi;

int mrz_zone_reserve(mrz_arena* arena, const char* name, uint64_t size, uint32_t access, uint64_t align,
                     mrz_zone** out)
{
    return hand_out(out, [&] {
        return new mrz_zone{
            checked(arena).reserve(checked_name(name), size, checked_access(access), align != 0 ? align : 64)};
    });
}

void* mrz_zone_address(const mrz_zone* zone)
{
    return zone != nullptr ? zone->zone.bytes().data() : nullptr;
}

uint64_t mrz_zone_size(const mrz_zone* zone)
{
    return zone != nullptr ? zone->zone.bytes().size() : 0;
}

uint32_t mrz_zone_access(const mrz_zone* zone)
{
    return zone != nullptr ? static_cast<std::uint32_t>(zone->zone.access()) : 0;
}

const rte_memzone* mrz_zone_memzone(const mrz_zone* zone)
{
    return zone != nullptr ? zone->zone.memzone() : nullptr;
}

int mrz_zone_region(const mrz_zone* zone, const mrz_domain* domain, const mrz_region** out)
{
    return hand_out(out, [&] { return as_c(&checked(zone).region(checked(domain))); });
}

int mrz_zone_explain(const mrz_zone* zone, char* text, size_t size)
{
    return guarded([&] {
        return give_text(checked(zone).plan({.max_page_shift = mrz::host::max_registration_shift()}).explain(), text,
                         size);
    });
}

void mrz_zone_destroy(mrz_zone* zone)
{
    delete zone;
}
