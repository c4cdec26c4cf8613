// SPDX-License-Identifier: BSD-3-Clause
#include "port_device.hpp"

#include "port.hpp"

#include <mrzone/base.hpp>

#include <rte_dev.h>
#include <rte_devargs.h>
#include <rte_ethdev.h>
#include <rte_kvargs.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <memory>

namespace mrz::testpmd {
namespace {

std::uint64_t next_port(std::uint64_t from)
{
    return rte_eth_find_next_owned_by(static_cast<std::uint16_t>(from), RTE_ETH_DEV_NO_OWNER);
}

} // namespace

std::vector<PortDevice> port_devices()
{
    std::vector<PortDevice> devices;
    for (std::uint64_t id = next_port(0); id < RTE_MAX_ETHPORTS; id = next_port(id + 1)) {
        const auto port = static_cast<std::uint16_t>(id);
        const int node = rte_eth_dev_socket_id(port);
        const rte_eth_dev_info info = info_of(port);
        const rte_devargs* const arguments = info.device != nullptr ? rte_dev_devargs(info.device) : nullptr;
        devices.push_back({.port = port,
                           .driver = info.driver_name,
                           .arguments = arguments != nullptr && arguments->args != nullptr ? arguments->args : "",
                           .node = node < 0 ? std::nullopt : std::optional{node}});
    }
    if (devices.empty())
        throw Error{ENODEV, Cause{.trouble = Trouble::invalid,
                                  .what = "forwarding",
                                  .limit = "the EAL found no port",
                                  .remedy = "give it devices, for example: --vdev=net_null0 --vdev=net_null1"}};
    return devices;
}

std::optional<int> common_node(const std::vector<PortDevice>& devices)
{
    const auto same = [&devices](const PortDevice& device) { return device.node == devices.front().node; };
    return std::ranges::all_of(devices, same) ? devices.front().node : std::nullopt;
}

bool shares_memory_by_table(const PortDevice& device)
{
    return device.driver == "net_virtio_user" ||
           (device.driver == "net_memif" && device.arguments.find("zero-copy=yes") != std::string::npos &&
            device.arguments.find("role=server") == std::string::npos);
}

bool takes_external_buffers(const PortDevice& device)
{
    return device.driver != "net_af_xdp";
}

bool sends_all_segments(std::string_view driver)
{
    return driver != "net_af_xdp";
}

std::uint64_t made_packet_bytes(const PortDevice& device)
{
    if (device.driver != "net_null")
        return 0;
    const std::unique_ptr<rte_kvargs, decltype(&rte_kvargs_free)> arguments{
        rte_kvargs_parse(device.arguments.c_str(), nullptr), rte_kvargs_free};
    const char* const size = arguments ? rte_kvargs_get(arguments.get(), "size") : nullptr;
    return size != nullptr ? std::strtoull(size, nullptr, 0) : 0;
}

} // namespace mrz::testpmd
