// SPDX-License-Identifier: BSD-3-Clause
#include "window_regions.hpp"

#include <functional>

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

WindowRegions register_window(Window& window, std::span<const Domain> domains)
{
    WindowRegions regions;
    for (const Domain& domain : domains) {
        const std::span<std::byte> header{window.address(), window.map().header_length};
        regions.headers.push_back(domain.register_memory(header, Access::local_write));
        regions.blocks.push_back(domain.register_memory(window.block(), Access::local_write));
    }
    if (!domains.empty())
        window.look_again();
    return regions;
}

} // namespace mrz
