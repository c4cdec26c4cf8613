// SPDX-License-Identifier: BSD-3-Clause
#include "reports.hpp"

#include "statistics_text.hpp"

#include <mrzone/base.hpp>

#include <fmt/format.h>
#include <rte_dev.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_ether.h>

#include <algorithm>
#include <array>
#include <vector>

namespace mrz::testpmd {
namespace {

void check(int status, const char* what, const Port& port)
{
    if (status >= 0)
        return;
    throw Error{-status, Cause{.trouble = Trouble::unsupported,
                               .what = fmt::format("{} of port {} ({})", what, port.id(), to_string(port.state())),
                               .limit = fmt::format("the driver {}: {}", port.driver(), rte_strerror(-status)),
                               .remedy = "see: show port summary all"}};
}

std::string name_of(const Port& port)
{
    std::array<char, RTE_ETH_NAME_MAX_LEN> name{};
    return rte_eth_dev_get_name_by_port(port.id(), name.data()) == 0 ? name.data() : "none";
}

std::string_view on_or_off(bool on)
{
    return on ? "on" : "off";
}

std::string link_text(const Port& port)
{
    rte_eth_link link{};
    check(rte_eth_link_get_nowait(port.id(), &link), "the link", port);
    return fmt::format("Link status: {}\nLink speed: {}\nLink duplex: {}\nAutoneg status: {}\n",
                       link.link_status != 0 ? "up" : "down", rte_eth_link_speed_to_str(link.link_speed),
                       link.link_duplex == RTE_ETH_LINK_FULL_DUPLEX ? "full-duplex" : "half-duplex",
                       link.link_autoneg == RTE_ETH_LINK_AUTONEG ? "On" : "Off");
}

std::string vlan_text(const Port& port)
{
    const int offload = rte_eth_dev_get_vlan_offload(port.id());
    if (offload < 0)
        return {};
    const auto has = [offload](int bit) { return on_or_off((offload & bit) != 0); };
    return fmt::format("VLAN offload: \n  strip {}, filter {}, extend {}, qinq strip {}\n",
                       has(RTE_ETH_VLAN_STRIP_OFFLOAD), has(RTE_ETH_VLAN_FILTER_OFFLOAD),
                       has(RTE_ETH_VLAN_EXTEND_OFFLOAD), has(RTE_ETH_QINQ_STRIP_OFFLOAD));
}

//! \p letter is R or T.
std::string queue_text(char letter, unsigned queues, unsigned most, const rte_eth_desc_lim& descriptors)
{
    return fmt::format("Current number of {0}X queues: {1}\nMax possible {0}X queues: {2}\n"
                       "Max possible number of {0}XDs per queue: {3}\nMin possible number of {0}XDs per queue: {4}\n"
                       "{0}XDs number alignment: {5}\n",
                       letter, queues, most, descriptors.nb_max, descriptors.nb_min, descriptors.nb_align);
}

std::string rss_text(std::uint64_t kinds)
{
    if (kinds == 0)
        return "No RSS offload flow type is supported.\n";
    return fmt::format("Supported RSS offload flow types: {:#x}\n", kinds);
}

} // namespace

std::string address_text(const rte_ether_addr& address)
{
    std::array<char, RTE_ETHER_ADDR_FMT_SIZE> text{};
    rte_ether_format_addr(text.data(), text.size(), &address);
    return text.data();
}

std::string port_info(Session& session, const Port& port)
{
    std::string text = fmt::format("\n{0:*<21} Infos for port {1:<2} {0:*<21}\n", "", port.id());
    if (!port.open())
        return text + fmt::format("Port status: {}\nDriver name: {}\n", to_string(port.state()), port.driver());
    rte_eth_dev_info info{};
    check(rte_eth_dev_info_get(port.id(), &info), "the description", port);

    text += fmt::format("MAC address: {}\n", address_text(port.address()));
    text += fmt::format("Device name: {}\nDriver name: {}\n", name_of(port), port.driver());
    std::array<char, 64> firmware{};
    const bool has_firmware = rte_eth_dev_fw_version_get(port.id(), firmware.data(), firmware.size()) == 0;
    text += fmt::format("Firmware-version: {}\n", has_firmware ? firmware.data() : "not available");
    if (info.device != nullptr && rte_dev_devargs(info.device) != nullptr &&
        rte_dev_devargs(info.device)->args != nullptr)
        text += fmt::format("Devargs: {}\n", rte_dev_devargs(info.device)->args);
    text += fmt::format("Port status: {}\n", to_string(port.state()));
    text += fmt::format("Connect to socket: {}\n", rte_eth_dev_socket_id(port.id()));
    text += fmt::format("memory allocation on the socket: {}\n", port.pool()->socket_id);
    text += fmt::format("Packet pool: {} ({})\n", port.pool()->name, to_string(session.memory().packets().kind));
    text += link_text(port);
    std::uint16_t mtu = 0;
    if (rte_eth_dev_get_mtu(port.id(), &mtu) == 0)
        text += fmt::format("MTU: {}\n", mtu);
    text += fmt::format("Promiscuous mode: {}\n", rte_eth_promiscuous_get(port.id()) == 1 ? "enabled" : "disabled");
    text += fmt::format("Allmulticast mode: {}\n", rte_eth_allmulticast_get(port.id()) == 1 ? "enabled" : "disabled");
    text += fmt::format("Maximum number of MAC addresses: {}\n", info.max_mac_addrs);
    text += fmt::format("Maximum number of MAC addresses of hash filtering: {}\n", info.max_hash_mac_addrs);
    text += vlan_text(port);
    if (info.hash_key_size > 0)
        text += fmt::format("Hash key size in bytes: {}\n", info.hash_key_size);
    if (info.reta_size > 0)
        text += fmt::format("Redirection table size: {}\n", info.reta_size);
    text += rss_text(info.flow_type_rss_offloads);
    text += fmt::format("Minimum size of RX buffer: {}\n", info.min_rx_bufsize);
    text += fmt::format("Maximum configurable length of RX packet: {}\n", info.max_rx_pktlen);
    text += fmt::format("Maximum configurable size of LRO aggregated packet: {}\n", info.max_lro_pkt_size);
    text += queue_text('R', info.nb_rx_queues, info.max_rx_queues, info.rx_desc_lim);
    text += queue_text('T', info.nb_tx_queues, info.max_tx_queues, info.tx_desc_lim);
    text += fmt::format("Max segment number per packet: {}\nMax segment number per MTU/TSO: {}\n",
                        info.tx_desc_lim.nb_seg_max, info.tx_desc_lim.nb_mtu_seg_max);
    return text;
}

std::string port_summary(const Session& session, std::optional<std::uint16_t> only)
{
    const std::span<const Port> ports = session.ports();
    std::string text = fmt::format("Number of available ports: {}\n", std::ranges::count_if(ports, &Port::open)) +
                       fmt::format("{:<4} {:<17} {:<12} {:<14} {:<8} {}\n", "Port", "MAC Address", "Name", "Driver",
                                   "Status", "Link");
    const auto row = [&text](const Port& port, std::string_view name, std::string_view status,
                             std::string_view link) {
        text += fmt::format("{:<4} {} {:<12} {:<14} {:<8} {}\n", port.id(), address_text(port.address()), name,
                            port.driver(), status, link);
    };
    if (only)
        static_cast<void>(session.port(*only)); // says which ports there are, if it is none
    for (const Port& port : ports) {
        if (only && port.id() != *only)
            continue;
        rte_eth_link link{};
        if (!port.open() || rte_eth_link_get_nowait(port.id(), &link) != 0)
            row(port, "none", to_string(port.state()), "none");
        else
            row(port, name_of(port), link.link_status != 0 ? "up" : "down",
                rte_eth_link_speed_to_str(link.link_speed));
    }
    return text;
}

std::string port_xstats(const Port& port)
{
    std::string text = fmt::format("###### NIC extended statistics for port {:<2}\n", port.id());
    if (!port.open())
        return text;
    const int count = rte_eth_xstats_get_names(port.id(), nullptr, 0);
    check(count, "extended statistics", port);
    std::vector<rte_eth_xstat_name> names(static_cast<std::size_t>(count));
    std::vector<rte_eth_xstat> values(names.size());
    check(rte_eth_xstats_get_names(port.id(), names.data(), static_cast<unsigned>(count)), "extended statistics",
          port);
    const int got = rte_eth_xstats_get(port.id(), values.data(), static_cast<unsigned>(count));
    check(got, "extended statistics", port);
    values.resize(std::min(values.size(), static_cast<std::size_t>(got)));
    for (const rte_eth_xstat& one : values)
        if (one.id < names.size())
            text += fmt::format("{}: {}\n", names[one.id].name, one.value);
    return text;
}

std::string PortStatistics::text(const Port& port)
{
    if (!port.open())
        return fmt::format("\n  Port {} is {}: it has no statistics\n", port.id(), to_string(port.state()));
    rte_eth_stats now{};
    check(rte_eth_stats_get(port.id(), &now), "statistics", port);
    const auto when = std::chrono::steady_clock::now();
    const auto last = last_.find(port.id());
    std::string text = last == last_.end()
                           ? device_statistics_text(port.id(), now, {}, {})
                           : device_statistics_text(port.id(), now, last->second.stats, when - last->second.when);
    last_[port.id()] = {.when = when, .stats = now};
    return text;
}

} // namespace mrz::testpmd
