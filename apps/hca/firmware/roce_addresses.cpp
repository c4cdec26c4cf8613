// SPDX-License-Identifier: BSD-3-Clause
#include "firmware/roce_addresses.hpp"

#include "firmware/port.hpp"

#include <algorithm>
#include <string>

namespace mrz::firmware {

namespace {

namespace layout = layouts::roce_addr_layout;
using layouts::part;

// MLX5_ROCE_L3_TYPE_… of Linux's include/linux/mlx5/device.h.
enum : std::uint64_t { l3_ipv4 = 0, l3_ipv6 = 1 };

void check_index(std::uint64_t index)
{
    if (index >= RoceAddresses::size)
        throw Refusal{Status::ix, "there is no RoCE address " + std::to_string(index)};
}

std::optional<RoceAddress> read(std::span<const std::byte> given)
{
    RoceAddress address;
    std::ranges::copy(part(given, layout::source_l3_address), address.gid.begin());
    const std::uint64_t mac =
        layouts::get(given, layout::source_mac_47_32) << 32 | layouts::get(given, layout::source_mac_31_0);
    layouts::set(address.mac, {0, 48}, mac);
    const std::uint64_t version = layouts::get(given, layout::roce_version);
    if (version != static_cast<std::uint64_t>(RoceAddress::Version::v1) &&
        version != static_cast<std::uint64_t>(RoceAddress::Version::v2))
        throw Refusal{Status::bad_param, "there is no RoCE version of number " + std::to_string(version)};
    address.version = static_cast<RoceAddress::Version>(version);
    const std::uint64_t l3 = layouts::get(given, layout::roce_l3_type);
    if (l3 > l3_ipv6)
        throw Refusal{Status::bad_param, "RoCE goes over IPv4 and IPv6, not over type " + std::to_string(l3)};
    address.ipv4 = address.version == RoceAddress::Version::v2 && l3 == l3_ipv4;
    if (layouts::is_set(given, layout::vlan_valid))
        address.vlan = static_cast<std::uint16_t>(layouts::get(given, layout::vlan_id));
    if (address.gid == Gid{})
        return std::nullopt;
    return address;
}

} // namespace

void RoceAddresses::set(std::uint64_t index, std::span<const std::byte> given)
{
    check_index(index);
    Entry entry{.given = {}, .address = read(given)};
    std::ranges::copy(given.first(std::min(given.size(), entry.given.size())), entry.given.begin());
    const std::lock_guard lock{mutex_};
    entries_[index] = entry;
}

RoceAddresses::Bytes RoceAddresses::get(std::uint64_t index) const
{
    check_index(index);
    const std::lock_guard lock{mutex_};
    const auto found = entries_.find(index);
    return found == entries_.end() ? Bytes{} : found->second.given;
}

void RoceAddresses::clear()
{
    const std::lock_guard lock{mutex_};
    entries_.clear();
}

std::optional<RoceAddress> RoceAddresses::find(std::uint8_t index) const
{
    const std::lock_guard lock{mutex_};
    const auto found = entries_.find(index);
    return found == entries_.end() ? std::nullopt : found->second.address;
}

bool RoceAddresses::takes(const RoceAddress& from, const Gid& gid, const Mac& mac) const
{
    const std::lock_guard lock{mutex_};
    return std::ranges::any_of(entries_, [&](const auto& item) {
        const std::optional<RoceAddress>& address = item.second.address;
        return address && address->gid == gid && address->mac == mac && address->version == from.version &&
               address->vlan == from.vlan;
    });
}

void add_roce_addresses(Commands& commands, RoceAddresses& addresses)
{
    namespace l = layouts;
    commands.add({0x761, "SET_ROCE_ADDRESS", l::set_roce_address_in::bytes, 16, [&](const Command& command) {
                      require_port(layouts::get(command.in, l::set_roce_address_in::vhca_port_num));
                      addresses.set(layouts::get(command.in, l::set_roce_address_in::roce_address_index),
                                    part(command.in, l::set_roce_address_in::roce_address));
                  }});
    commands.add({0x760, "QUERY_ROCE_ADDRESS", 16, l::query_roce_address_out::bytes, [&](const Command& command) {
                      require_port(layouts::get(command.in, l::query_roce_address_in::vhca_port_num));
                      std::ranges::copy(
                          addresses.get(layouts::get(command.in, l::query_roce_address_in::roce_address_index)),
                          part(command.out, l::query_roce_address_out::roce_address).begin());
                  }});
}

} // namespace mrz::firmware
