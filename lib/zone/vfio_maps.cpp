// SPDX-License-Identifier: BSD-3-Clause
#include "vfio_maps.hpp"

#include <rte_config.h>
#include <rte_errno.h>
#include <rte_memory.h>
#include <rte_vfio.h>

#include <algorithm>
#include <cerrno>
#include <span>
#include <string>

namespace mrz {
namespace {

//! The container has room for 256 ranges (VFIO_MAX_USER_MEM_MAPS). More scattered windows are DPDK's to map.
constexpr std::size_t most_ranges = 64;

std::uint64_t number(const std::byte* address)
{
    return reinterpret_cast<std::uintptr_t>(address);
}

void unmap_ranges(std::span<const EalRange> ranges) noexcept
{
    for (const EalRange& range : ranges)
        if (rte_vfio_container_dma_unmap(RTE_VFIO_DEFAULT_CONTAINER_FD, number(range.address), range.iova,
                                         range.length) != 0)
            log(Severity::warning,
                std::string{"an arena's memory could not be unmapped from VFIO: "} + rte_strerror(rte_errno));
}

//! What the EAL believes of each page, in order. A page that is not the EAL's is left alone.
void set_iovas(const Window& window, const std::vector<std::uint64_t>& iovas) noexcept
{
    const rte_memseg_list* const list = rte_mem_virt2memseg_list(window.address());
    for (std::size_t page = 0; list != nullptr && page < iovas.size(); ++page)
        if (rte_memseg* const segment = rte_mem_virt2memseg(window.address() + page * Window::header_size, list))
            segment->iova = iovas[page];
}

} // namespace

std::optional<VfioMaps::Refusal> VfioMaps::map(const Window& window)
{
    return map(window, false);
}

std::optional<VfioMaps::Refusal> VfioMaps::map_in_heap(const Window& window)
{
    return map(window, true);
}

std::optional<VfioMaps::Refusal> VfioMaps::map(const Window& window, bool in_heap)
{
    const std::vector<EalRange> ranges = eal_ranges(window);
    if (std::ranges::find(mapped_, window.address()) != mapped_.end() || ranges.size() > most_ranges)
        return {};
    std::erase(unmapped_, window.address()); // another window that was there
    mapped_.reserve(mapped_.size() + 1);
    unmapped_.reserve(unmapped_.size() + mapped_.size() + 1);
    for (std::size_t i = 0; i < ranges.size(); ++i) {
        errno = rte_errno = 0;
        if (rte_vfio_container_dma_map(RTE_VFIO_DEFAULT_CONTAINER_FD, number(ranges[i].address), ranges[i].iova,
                                       ranges[i].length) == 0)
            continue;
        // The kernel's refusal is not always told in rte_errno.
        const int error_number = rte_errno != 0 ? rte_errno : errno;
        if (!in_heap) // else these pages may be those that DPDK mapped
            unmap_ranges(std::span{ranges}.first(i));
        return Refusal{ranges[i], error_number != 0 ? error_number : EIO};
    }
    mapped_.push_back(window.address());
    return {};
}

void VfioMaps::unmap(const Window& window) noexcept
try {
    const auto found = std::ranges::find(mapped_, window.address());
    if (found == mapped_.end())
        return;
    mapped_.erase(found);
    unmapped_.push_back(window.address()); // for which there is room
    unmap_ranges(eal_ranges(window));
    set_iovas(window, std::vector<std::uint64_t>(window.length() / Window::header_size, RTE_BAD_IOVA));
} catch (const std::exception& error) { // for want of memory
    log(Severity::warning, std::string{"an arena's memory stays mapped for VFIO: "} + error.what());
}

void VfioMaps::put_back(const Window& window) noexcept
try {
    if (std::erase(unmapped_, window.address()) == 0)
        return;
    set_iovas(window, eal_iovas(window));
    if (const std::optional<Refusal> refusal = map_in_heap(window))
        log(Severity::warning, std::string{"an arena's memory, which stays, could not be mapped for VFIO again: "} +
                                   rte_strerror(refusal->error_number));
} catch (const std::exception& error) { // for want of memory
    log(Severity::warning, std::string{"an arena's memory, which stays, is not mapped for VFIO: "} + error.what());
}

} // namespace mrz
