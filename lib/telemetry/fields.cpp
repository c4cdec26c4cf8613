// SPDX-License-Identifier: BSD-3-Clause
#include <mrzone/fields.hpp>

#include <algorithm>
#include <utility>

namespace mrz {
namespace {

//! Fields of one part of a snapshot.
class Part {
  public:
    Part(Fields& all, std::string prefix) : all_{all}, prefix_{std::move(prefix)} {}

    Part& add(const char* name, std::uint64_t value)
    {
        all_.push_back({prefix_ + name, value});
        return *this;
    }
    Part& add(const char* name, std::string value)
    {
        all_.push_back({prefix_ + name, std::move(value)});
        return *this;
    }
    Part& add(const char* name, std::optional<int> value)
    {
        return value ? add(name, static_cast<std::uint64_t>(*value)) : *this;
    }

  private:
    Fields& all_;
    std::string prefix_;
};

void add(Part part, const TierSnapshot& tier)
{
    part.add("regions", tier.regions)
        .add("bytes", tier.bytes)
        .add("pinned_bytes", tier.pinned_bytes)
        .add("keys", tier.keys)
        .add("mtt_entries", tier.mtt_entries)
        .add("indirect_entries", tier.indirect_entries);
}

void add(Part part, const LookUpSnapshot& look_up)
{
    part.add("regions", look_up.regions)
        .add("in_slots", look_up.in_slots)
        .add("hidden", look_up.hidden)
        .add("segments", look_up.segments)
        .add("tables_waiting", look_up.tables_waiting)
        .add("bytes_waiting", look_up.bytes_waiting)
        .add("readers", look_up.readers)
        .add("shut", std::uint64_t{look_up.shut});
}

void add(Part part, const Pool& pool)
{
    part.add("total", pool.total).add("free", pool.free).add("surplus", pool.surplus);
    if (!pool.node) // the kernel counts these for the whole machine only
        part.add("reserved", pool.reserved).add("overcommit", pool.overcommit);
}

} // namespace

Fields fields_of(const DomainSnapshot& snapshot)
{
    Fields all;
    Part{all, ""}
        .add("number", snapshot.number)
        .add("device", snapshot.device)
        .add("driver", snapshot.driver)
        .add("numa_node", snapshot.numa_node)
        .add("closed", std::uint64_t{snapshot.closed});
    add(Part{all, "arena/"}, snapshot.arena);
    add(Part{all, "resident/"}, snapshot.resident);
    add(Part{all, "temporary/"}, snapshot.temporary);
    Part{all, ""}.add("movable_keys", snapshot.movable_keys);
    add(Part{all, "look_up/"}, snapshot.look_up);
    if (snapshot.device_caches)
        Part{all, "device_caches/"}
            .add("mtt_hits", snapshot.device_caches->mtt_hits)
            .add("mtt_misses", snapshot.device_caches->mtt_misses)
            .add("mpt_hits", snapshot.device_caches->mpt_hits)
            .add("mpt_misses", snapshot.device_caches->mpt_misses);
    return all;
}

Fields fields_of(const CacheSnapshot& snapshot)
{
    Fields all;
    Part{all, ""}
        .add("number", snapshot.number)
        .add("domain", snapshot.domain)
        .add("hits", snapshot.hits)
        .add("misses", snapshot.misses)
        .add("evictions", snapshot.evictions)
        .add("merges", snapshot.merges)
        .add("invalidations", snapshot.invalidations)
        .add("waits", snapshot.waits)
        .add("deregistered", snapshot.deregistered)
        .add("unkept", snapshot.unkept)
        .add("leases", snapshot.leases)
        .add("regions", snapshot.regions)
        .add("keys", snapshot.keys)
        .add("bytes", snapshot.bytes)
        .add("entries", snapshot.entries)
        .add("watched", std::uint64_t{snapshot.watched})
        .add("budget_bytes", snapshot.budget_bytes)
        .add("budget_keys", snapshot.budget_keys);
    if (snapshot.budget_entries != CacheOptions::unlimited)
        Part{all, ""}.add("budget_entries", snapshot.budget_entries);
    return all;
}

Fields fields_of(const ArenaSnapshot& snapshot)
{
    Fields all;
    Part{all, ""}
        .add("number", snapshot.number)
        .add("name", snapshot.name)
        .add("socket_id", static_cast<std::uint64_t>(snapshot.socket_id))
        .add("closed", std::uint64_t{snapshot.closed})
        .add("node", snapshot.node)
        .add("page_size", snapshot.page_size)
        .add("windows", snapshot.windows)
        .add("bytes", snapshot.bytes)
        .add("zones", snapshot.zones)
        .add("frames_known", std::uint64_t{snapshot.frames_known});
    for (const ArenaSnapshot::InDomain& in : snapshot.domains)
        add(Part{all, "domain_" + std::to_string(in.domain) + '/'}, in.regions);
    return all;
}

Fields fields_of(std::span<const Pool> pools)
{
    Fields all;
    for (const Pool& pool : pools) {
        std::string size = format_size(pool.page_size);
        std::erase(size, ' ');
        add(Part{all, size + (pool.node ? "/node_" + std::to_string(*pool.node) : "/machine") + '/'}, pool);
    }
    return all;
}

} // namespace mrz
