// SPDX-License-Identifier: BSD-3-Clause
#include <mrzone/mrzone.h>

#include "handles.hpp"

#include <cerrno>
#include <span>
#include <vector>

using namespace mrz::capi;

namespace {

mrz::MovableKeyOptions checked_options(const mrz_movable_key_options* options)
{
    mrz::MovableKeyOptions key_options;
    if (options == nullptr)
        return key_options;
    const mrz_movable_key_options known = known_options(options, "mrz_movable_key_options");
    if (known.access != 0)
        key_options.access = checked_access(known.access);
    if (known.entries != 0)
        key_options.entries = known.entries;
    return key_options;
}

mrz::RegionPart checked_part(const mrz_region_part& part)
{
    const mrz::Region& region = checked(part.region);
    if (part.address == nullptr) {
        if (part.length != 0)
            refuse("a part's address is NULL, but its length is not 0",
                   "give both, or neither for all of the region");
        return {region, region.bytes()};
    }
    return {region, {static_cast<const std::byte*>(part.address), part.length}};
}

} // namespace

int mrz_movable_key_create(const mrz_domain* domain, const mrz_movable_key_options* options, mrz_movable_key** out)
{
    return hand_out(out, [&] {
        return new mrz_movable_key{mrz::MovableKey{checked(domain), checked_options(options)}};
    });
}

int mrz_movable_key_lead_to(mrz_movable_key* key, const mrz_region_part* parts, size_t count,
                            mrz_remote_region* remote)
{
    return guarded([&] {
        mrz::MovableKey& known = checked(key);
        if (parts == nullptr && count != 0)
            refuse("the array of parts is NULL, but its count is not 0", "give the parts");
        std::vector<mrz::RegionPart> all;
        all.reserve(count);
        for (const mrz_region_part& part : std::span{parts, count})
            all.push_back(checked_part(part));
        // Once the key was moved there must be somewhere to put what it is now.
        check_struct(remote, "mrz_remote_region");
        fill(remote, known.lead_to(all));
        return 0;
    });
}

int mrz_movable_key_lead_nowhere(mrz_movable_key* key)
{
    return guarded([&] {
        checked(key).lead_nowhere();
        return 0;
    });
}

int mrz_movable_key_remote(const mrz_movable_key* key, mrz_remote_region* remote)
{
    return guarded([&] {
        const auto leads = checked(key).remote();
        if (!leads)
            throw mrz::Error{ENOENT,
                             {.trouble = mrz::Trouble::invalid,
                              .what = "describing a movable key to a peer",
                              .limit = "it leads nowhere",
                              .remedy = "make it lead somewhere (mrz_movable_key_lead_to)"}};
        fill(remote, *leads);
        return 0;
    });
}

void mrz_movable_key_destroy(mrz_movable_key* key)
{
    delete key;
}
