// SPDX-License-Identifier: BSD-3-Clause
#include <mrzone/mrzone.h>

#include "handles.hpp"

#include <chrono>
#include <span>

using namespace mrz::capi;

namespace {

mrz::Paging checked_paging(std::uint32_t paging)
{
    switch (paging) {
    case MRZ_PAGING_PINNED:
        return mrz::Paging::pinned;
    case MRZ_PAGING_ON_DEMAND:
        return mrz::Paging::on_demand;
    default:
        refuse("there is no paging " + std::to_string(paging), "use a value of enum mrz_paging");
    }
}

mrz::Ordering checked_ordering(std::uint32_t ordering)
{
    switch (ordering) {
    case MRZ_ORDERING_STRICT:
        return mrz::Ordering::strict;
    case MRZ_ORDERING_RELAXED:
        return mrz::Ordering::relaxed;
    case MRZ_ORDERING_BEST:
        return mrz::Ordering::best;
    default:
        refuse("there is no ordering " + std::to_string(ordering), "use a value of enum mrz_ordering");
    }
}

mrz::Way checked_way(std::uint32_t way)
{
    switch (way) {
    case MRZ_WAY_PINNED_ONCE:
        return mrz::Way::pinned_once;
    case MRZ_WAY_FEWEST_ENTRIES:
        return mrz::Way::fewest_entries;
    case MRZ_WAY_MEMORY_REGION:
        return mrz::Way::memory_region;
    default:
        refuse("there is no way " + std::to_string(way), "use a value of enum mrz_way");
    }
}

mrz::Sharing checked_sharing(std::uint32_t sharing)
{
    switch (sharing) {
    case MRZ_SHARING_SIMILAR:
        return mrz::Sharing::similar;
    case MRZ_SHARING_NEVER:
        return mrz::Sharing::never;
    case MRZ_SHARING_ALWAYS:
        return mrz::Sharing::always;
    default:
        refuse("there is no sharing " + std::to_string(sharing), "use a value of enum mrz_sharing");
    }
}

mrz::RegionOptions checked_options(const mrz_region_options* options)
{
    if (options == nullptr)
        return {};
    const mrz_region_options known = known_options(options, "mrz_region_options");
    // Dropped in silence, peers would be told of addresses that are none.
    if (known.has_iova == 0 && known.iova != 0)
        refuse("the region's options have an iova, but has_iova is 0", "set has_iova to 1");
    if (known.reserved != 0)
        refuse("the region's options have a reserved that is not 0",
               "set the whole struct to zero before its members");
    mrz::RegionOptions region_options;
    if (known.has_iova != 0)
        region_options.iova = mrz::Iova{known.iova};
    region_options.how = {.paging = checked_paging(known.paging),
                          .ordering = checked_ordering(known.ordering),
                          .way = checked_way(known.way),
                          .sharing = checked_sharing(known.sharing)};
    return region_options;
}

} // namespace

int mrz_region_register(const mrz_domain* domain, void* address, uint64_t length, uint32_t access,
                        const mrz_region_options* options, mrz_region** out)
{
    return hand_out(out, [&] {
        return as_c(new mrz::Region{checked(domain).register_memory(
            {static_cast<std::byte*>(address), length}, checked_access(access), checked_options(options))});
    });
}

int mrz_region_describe(const mrz_region* region, mrz_region_info* info)
{
    return guarded([&] {
        const mrz::Region& known = checked(region);
        const mrz::RegisterPhases phases = known.phases();
        fill(info,
             {.struct_size = 0,
              .address = known.bytes().data(),
              .length = known.bytes().size(),
              .iova = known.iova().value(),
              .lkey = {known.lkey().value},
              .rkey = {known.rkey().value},
              .access = static_cast<std::uint32_t>(known.access()),
              .page_shift = known.plan().keys.front().page_shift.value(),
              .mtt_entries = known.plan().mtt_entries(),
              .pinned_bytes = known.pinned_bytes(),
              .pin_ns = nanoseconds(phases.pin),
              .map_ns = nanoseconds(phases.map),
              .tables_ns = nanoseconds(phases.tables)},
             "mrz_region_info");
        return 0;
    });
}

mrz_lkey mrz_region_lkey(const mrz_region* region)
{
    return {region != nullptr ? as_cpp(region)->lkey().value : 0};
}

mrz_rkey mrz_region_rkey(const mrz_region* region)
{
    return {region != nullptr ? as_cpp(region)->rkey().value : 0};
}

uint64_t mrz_region_iova(const mrz_region* region)
{
    return region != nullptr ? as_cpp(region)->iova().value() : 0;
}

int mrz_region_explain(const mrz_region* region, char* text, size_t size)
{
    return guarded([&] { return give_text(checked(region).plan().explain(), text, size); });
}

void mrz_region_destroy(mrz_region* region)
{
    delete as_cpp(region);
}
