// SPDX-License-Identifier: BSD-3-Clause
#include "window_regions.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>

#include <mrzone/host.hpp>

#include <cerrno>
#include <functional>
#include <utility>

namespace mrz {
namespace {

bool holds(std::span<const std::byte> outer, std::span<const std::byte> inner) noexcept
{
    const std::less_equal<const std::byte*> before;
    return before(outer.data(), inner.data()) && before(inner.data() + inner.size(), outer.data() + outer.size());
}

} // namespace

const Region* WindowRegions::find(std::size_t domain, std::span<const std::byte> memory) const noexcept
{
    for (const std::vector<Region>* regions : {&blocks, &headers})
        if (domain < regions->size() && holds((*regions)[domain].bytes(), memory))
            return &(*regions)[domain];
    return nullptr;
}

RegisterPhases WindowRegions::phases() const noexcept
{
    RegisterPhases sum;
    for (const std::vector<Region>* regions : {&blocks, &headers})
        for (const Region& region : *regions) {
            const RegisterPhases phases = region.phases();
            sum.pin += phases.pin;
            sum.map += phases.map;
            sum.tables += phases.tables;
        }
    return sum;
}

void WindowRegions::count(std::size_t domain, TierSnapshot& sum) const noexcept
{
    for (const std::vector<Region>* regions : {&blocks, &headers}) {
        if (domain >= regions->size())
            continue;
        const Region& region = (*regions)[domain];
        const Plan& plan = region.plan();
        sum.regions += 1;
        sum.bytes += region.bytes().size();
        sum.pinned_bytes += region.pinned_bytes();
        sum.keys += plan.keys.size() + (plan.indirect ? 1 : 0);
        sum.mtt_entries += plan.mtt_entries();
        sum.indirect_entries += plan.indirect_entries();
    }
}

void check_may_pin(std::size_t block, std::string what)
{
    const host::LockedMemory limit = host::locked_memory();
    const std::uint64_t bytes = std::uint64_t{block} + Window::header_size;
    // Once, whatever the number of domains: some devices charge memory once.
    if (host::surely_beyond(limit, bytes))
        throw Error{ENOMEM, host::locked_memory_too_small(limit, bytes, std::move(what))};
}

WindowRegions register_window(Window& window, std::span<const Domain> domains)
{
    const RegionOptions lasting{.lasting = true, .tier = Tier::arena}; // it is ours, and goes after them
    WindowRegions regions;
    for (const Domain& domain : domains) {
        const std::span<std::byte> header{window.address(), window.map().header_length};
        regions.headers.push_back(domain.register_memory(header, Access::local_write, lasting));
        regions.blocks.push_back(domain.register_memory(window.block(), Access::local_write, lasting));
    }
    if (!domains.empty())
        window.look_again();
    return regions;
}

namespace {

void lower(std::optional<std::uint64_t>& most, const std::optional<std::uint64_t>& to)
{
    if (to)
        most = most ? std::min(*most, *to) : *to;
}

} // namespace

Limits limits_for(std::span<const Domain> domains)
{
    Limits limits = WindowOptions{}.limits;
    limits.indirect.klm = limits.indirect.ksm = !domains.empty();
    for (const Domain& domain : domains) {
        const Limits device = domain.limits();
        // What satisfies the umems' rule satisfies ibv_reg_mr's, too.
        if (device.rule == PageSizeRule::umem)
            limits.rule = PageSizeRule::umem;
        lower(limits.max_mtt_entries, device.max_mtt_entries);
        lower(limits.indirect.max_entries, device.indirect.max_entries);
        limits.indirect.klm = limits.indirect.klm && device.indirect.klm;
        limits.indirect.ksm = limits.indirect.ksm && device.indirect.ksm;
        limits.indirect.max_klm_bytes = std::min(limits.indirect.max_klm_bytes, device.indirect.max_klm_bytes);
        limits.indirect.min_ksm_shift = std::max(limits.indirect.min_ksm_shift, device.indirect.min_ksm_shift);
        limits.indirect.max_ksm_shift = std::min(limits.indirect.max_ksm_shift, device.indirect.max_ksm_shift);
    }
    if (limits.indirect.min_ksm_shift > limits.indirect.max_ksm_shift) {
        limits.indirect.ksm = false;
        limits.indirect.min_ksm_shift = limits.indirect.max_ksm_shift;
    }
    return limits;
}

} // namespace mrz
