// SPDX-License-Identifier: BSD-3-Clause
#define ALLOW_EXPERIMENTAL_API // rte_dev_dma_map and rte_dev_dma_unmap: there since 19.05, and still called so

#include "port_maps.hpp"

#include "dpdk.hpp"
#include "eal_iovas.hpp"

#include <rte_bus.h>
#include <rte_config.h>
#include <rte_dev.h>
#include <rte_errno.h>
#include <rte_ethdev.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <system_error>

namespace mrz {
namespace {

//! The device of a port that is there; null if it is not.
rte_device* device_of(std::uint16_t port)
{
    rte_eth_dev_info info{};
    return rte_eth_dev_is_valid_port(port) != 0 && rte_eth_dev_info_get(port, &info) == 0 ? info.device : nullptr;
}

//! Whether the device has not been taken out. It stays when its port is closed, and keeps what was mapped for it.
bool is_there(const rte_device* device)
{
    return rte_bus_find_by_device(device) != nullptr;
}

bool is_virtual(const rte_device* device)
{
    const rte_bus* const bus = rte_dev_bus(device);
    return bus != nullptr && std::strcmp(rte_bus_name(bus), "vdev") == 0;
}

//! Whether the kernel's driver of the device is VFIO, and so all devices' maps are in one place.
bool is_under_vfio(const rte_device* device)
{
    const rte_bus* const bus = rte_dev_bus(device);
    if (bus == nullptr || std::strcmp(rte_bus_name(bus), "pci") != 0)
        return false;
    std::error_code none;
    return std::filesystem::read_symlink(std::string{"/sys/bus/pci/devices/"} + rte_dev_name(device) + "/driver",
                                         none)
               .filename() == "vfio-pci";
}

std::string naming(std::uint16_t port, const rte_device* device)
{
    return "mapping an arena for port " + std::to_string(port) +
           (device == nullptr ? "" : std::string{" ("} + rte_dev_name(device) + ')');
}

Error refusal(std::uint16_t port, const rte_device* device, const EalRange& range, int error_number)
{
    Cause cause{.trouble = Trouble::unsupported,
                .what = naming(port, device),
                .limit = std::string{is_under_vfio(device) ? "VFIO" : "rte_dev_dma_map"} + " refuses " +
                         format_size(range.length) + " at " + format_hex(range.iova) + ": " +
                         rte_strerror(error_number),
                .remedy = "see the EAL's log for more (--log-level=lib.eal:debug)"};
    if (error_number == ENOTSUP) {
        cause.limit = "neither its driver nor its kernel driver maps memory for devices (rte_dev_dma_map: ENOTSUP)";
        cause.remedy = "if it uses physical addresses, start the EAL with --iova-mode=pa: then nothing need be "
                       "mapped; else bind it to vfio-pci";
    }
    return Error{error_number, std::move(cause)};
}

//! What is under VFIO is mapped for all ports, and not unmapped for one.
void unmap(rte_device* device, std::span<const EalRange> ranges)
{
    if (is_under_vfio(device))
        return;
    for (const EalRange& range : ranges)
        if (rte_dev_dma_unmap(device, range.address, range.iova, range.length) != 0)
            log(Severity::warning, std::string{"an arena's memory could not be unmapped from "} +
                                       rte_dev_name(device) + ": " + rte_strerror(rte_errno));
}

void map(std::uint16_t port, rte_device* device, const Window& window, VfioMaps& vfio)
{
    const std::vector<EalRange> ranges = eal_ranges(window);
    if (ranges.empty())
        throw Error{EPERM,
                    {.trouble = Trouble::permission,
                     .what = naming(port, device),
                     .limit = "the EAL uses physical addresses, but frames are hidden (CAP_SYS_ADMIN)",
                     .remedy = "start the EAL with --iova-mode=va, or run with CAP_SYS_ADMIN"}};
    if (is_under_vfio(device)) {
        // In a secondary process: what the primary mapped holds for both.
        if (const auto refused = is_secondary() ? std::nullopt : vfio.map_in_heap(window))
            throw refusal(port, device, refused->range, refused->error_number);
        return;
    }
    for (std::size_t i = 0; i < ranges.size(); ++i) {
        if (rte_dev_dma_map(device, ranges[i].address, ranges[i].iova, ranges[i].length) == 0)
            continue;
        const Error error = refusal(port, device, ranges[i], rte_errno);
        unmap(device, std::span{ranges}.first(i));
        throw error;
    }
}

} // namespace

PortMapping PortMaps::add(std::uint16_t port, std::span<const Window> windows)
{
    rte_device* const device = device_of(port);
    if (device == nullptr)
        throw Error{ENODEV,
                    {.trouble = Trouble::invalid,
                     .what = naming(port, nullptr),
                     .limit = "there is no such port; the number of ports",
                     .present = rte_eth_dev_count_avail(),
                     .remedy = "name a port that rte_eth_dev_is_valid_port() knows"}};
    const PortMapping answer = is_virtual(device) ? PortMapping::nothing_to_map : PortMapping::mapped;
    std::erase_if(ports_, [&](const Port& known) { return known.id == port && known.device != device; });
    if (std::ranges::any_of(ports_, [&](const Port& known) { return known.id == port; }))
        return answer;
    ports_.reserve(ports_.size() + 1);
    for (std::size_t i = 0; i < windows.size(); ++i) {
        try {
            map(port, device, windows[i], vfio_);
        } catch (...) {
            for (const Window& mapped : windows.first(i))
                unmap(device, eal_ranges(mapped));
            throw;
        }
    }
    ports_.push_back({port, device});
    return answer;
}

void PortMaps::prepare(const Window& window) noexcept
try {
    if (is_secondary())
        return;
    for (std::uint16_t port = 0; port < RTE_MAX_ETHPORTS; ++port) {
        const rte_device* const device = device_of(port);
        if (device == nullptr || !is_under_vfio(device))
            continue;
        static_cast<void>(vfio_.map(window)); // a refusal is seen where a port is named: map_for(), add()
        return;
    }
} catch (const std::exception& error) { // for want of memory
    log(Severity::warning, std::string{"an arena's memory is left to DPDK to map for VFIO: "} + error.what());
}

void PortMaps::add(const Window& window)
{
    put_back(window);
    for (std::size_t i = 0; i < ports_.size(); ++i) {
        if (device_of(ports_[i].id) != ports_[i].device)
            continue;
        try {
            map(ports_[i].id, ports_[i].device, window, vfio_);
        } catch (...) {
            for (const Port& port : std::span{ports_}.first(i))
                if (is_there(port.device))
                    unmap(port.device, eal_ranges(window));
            throw;
        }
    }
}

void PortMaps::remove(const Window& window) noexcept
try {
    for (const Port& port : ports_)
        if (is_there(port.device))
            unmap(port.device, eal_ranges(window));
    withdraw(window);
} catch (const std::exception& error) { // for want of memory
    log(Severity::warning, std::string{"an arena's memory stays mapped for its ports: "} + error.what());
}

} // namespace mrz
