// SPDX-License-Identifier: BSD-3-Clause
#include <mrzone/mrzone.h>

#include "handles.hpp"

#include <cerrno>
#include <optional>

using namespace mrz::capi;

namespace {

[[noreturn]] void refuse_unknown(int error_number, std::string what, std::string limit)
{
    throw mrz::Error{error_number,
                     {.trouble = mrz::Trouble::unsupported,
                      .what = std::move(what),
                      .limit = std::move(limit),
                      .remedy = "do without"}};
}

} // namespace

int mrz_domain_open(const char* device, mrz_domain** out)
{
    return hand_out(out, [&] { return new mrz_domain{mrz::Domain::open(device != nullptr ? device : "any")}; });
}

int mrz_domain_adopt(ibv_pd* pd, mrz_domain** out)
{
    return hand_out(out, [&] { return new mrz_domain{mrz::Domain::adopt(pd)}; });
}

int mrz_domain_name(const mrz_domain* domain, char* text, size_t size)
{
    return guarded([&] { return give_text(checked(domain).name(), text, size); });
}

int mrz_domain_driver(const mrz_domain* domain, char* text, size_t size)
{
    return guarded([&] { return give_text(checked(domain).driver(), text, size); });
}

int mrz_domain_reason(const mrz_domain* domain, char* text, size_t size)
{
    return guarded([&] { return give_text(checked(domain).reason(), text, size); });
}

int mrz_domain_numa_node(const mrz_domain* domain)
{
    return guarded([&] {
        const mrz::Domain& known = checked(domain);
        const std::optional<int> node = known.numa_node();
        if (!node)
            refuse_unknown(ENODATA, "the NUMA node of device " + known.name(), "it is on none");
        return *node;
    });
}

int mrz_domain_pins_again(const mrz_domain* domain)
{
    return guarded([&] { return checked(domain).pins_again() ? 1 : 0; });
}

int mrz_domain_cache_counters(const mrz_domain* domain, mrz_cache_counters* counters)
{
    return guarded([&] {
        const mrz::Domain& known = checked(domain);
        const std::optional<mrz::CacheCounters> counted = known.cache_counters();
        if (!counted)
            refuse_unknown(ENOTSUP, "the cache counters of device " + known.name(), "it cannot tell");
        fill(counters,
             {.struct_size = 0,
              .mtt_hits = counted->mtt_hits,
              .mtt_misses = counted->mtt_misses,
              .mpt_hits = counted->mpt_hits,
              .mpt_misses = counted->mpt_misses},
             "mrz_cache_counters");
        return 0;
    });
}

int mrz_domain_snapshot(const mrz_domain* domain, mrz_domain_counts* counts)
{
    return guarded([&] {
        const mrz::DomainSnapshot now = checked(domain).snapshot();
        fill(counts,
             {.struct_size = 0,
              .number = now.number,
              .closed = now.closed,
              .arena = counts_of(now.arena),
              .resident = counts_of(now.resident),
              .temporary = counts_of(now.temporary),
              .looked_up = now.look_up.regions,
              .looked_up_in_slots = now.look_up.in_slots,
              .segments = now.look_up.segments,
              .tables_waiting = now.look_up.tables_waiting,
              .bytes_waiting = now.look_up.bytes_waiting,
              .readers = now.look_up.readers,
              .hidden = now.look_up.hidden,
              .shut = now.look_up.shut ? 1U : 0U,
              .movable_keys = now.movable_keys},
             "mrz_domain_counts");
        return 0;
    });
}

int mrz_domain_close(mrz_domain* domain)
{
    return guarded([&] {
        checked(domain).close();
        return 0;
    });
}

void mrz_domain_destroy(mrz_domain* domain)
{
    delete domain;
}
