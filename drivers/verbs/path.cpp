// SPDX-License-Identifier: BSD-3-Clause
#include "path.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include <arpa/inet.h>

namespace mrz::verbs {
namespace {

std::vector<ibv_gid_entry> gids_of(const Context& context)
{
    std::vector<ibv_gid_entry> entries(256);
    const ssize_t count = ::ibv_query_gid_table(context.get(), entries.data(), entries.size(), 0);
    entries.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
    return entries;
}

// RFC 4291, 2.5.5.2: ten bytes of zeroes, two of ones.
bool is_ipv4(const ibv_gid& gid) noexcept
{
    return std::all_of(gid.raw, gid.raw + 10, [](std::uint8_t byte) { return byte == 0; }) && gid.raw[10] == 0xff &&
           gid.raw[11] == 0xff;
}

bool is_link_local(const ibv_gid& gid) noexcept
{
    return gid.raw[0] == 0xfe && (gid.raw[1] & 0xc0) == 0x80;
}

int preference(const ibv_gid_entry& entry) noexcept
{
    const int address = is_ipv4(entry.gid) ? 2 : is_link_local(entry.gid) ? 0 : 1;
    return (entry.gid_type == IBV_GID_TYPE_ROCE_V2 ? 3 : 0) + address;
}

} // namespace

Endpoint Place::pack() const
{
    Endpoint endpoint;
    endpoint.bytes.resize(sizeof *this);
    std::memcpy(endpoint.bytes.data(), this, sizeof *this);
    return endpoint;
}

std::optional<Place> Place::unpack(const Endpoint& endpoint)
{
    Place place;
    if (endpoint.bytes.size() != sizeof place)
        return std::nullopt;
    std::memcpy(&place, endpoint.bytes.data(), sizeof place);
    if (place.kind != Place{}.kind || place.mtu < IBV_MTU_256 || place.mtu > IBV_MTU_4096 || place.ethernet > 1)
        return std::nullopt;
    return place;
}

std::optional<ibv_gid_entry> choose_gid(std::span<const ibv_gid_entry> entries, std::uint32_t port) noexcept
{
    const ibv_gid_entry* best = nullptr;
    for (const ibv_gid_entry& entry : entries)
        if (entry.port_num == port && (best == nullptr || preference(entry) > preference(*best)))
            best = &entry;
    return best == nullptr ? std::nullopt : std::optional{*best};
}

Port choose_port(const Context& context)
{
    const unsigned ports = std::max<unsigned>(context.attributes().orig_attr.phys_port_cnt, 1);
    std::optional<Port> chosen;
    int error = ENODEV;
    for (unsigned number = 1; number <= ports && !(chosen && chosen->active); ++number) {
        ibv_port_attr attributes{};
        if (const int failed = ibv_query_port(context.get(), static_cast<std::uint8_t>(number), &attributes);
            failed != 0) {
            error = failed;
            continue;
        }
        const bool active = attributes.state == IBV_PORT_ACTIVE;
        if (!chosen || active)
            chosen = Port{.number = static_cast<std::uint8_t>(number),
                          .active = active,
                          .ethernet = attributes.link_layer == IBV_LINK_LAYER_ETHERNET,
                          .lid = attributes.lid,
                          .mtu = attributes.active_mtu};
    }
    if (!chosen)
        throw Error{error,
                    {.trouble = Trouble::unsupported,
                     .what = "asking device " + context.name() + " for its ports",
                     .limit = std::string{"the kernel: "} + std::strerror(error),
                     .remedy = "look whether the device is still there (ibv_devinfo)"}};
    if (chosen->ethernet) {
        if (const auto entry = choose_gid(gids_of(context), chosen->number)) {
            chosen->gid_index = entry->gid_index;
            chosen->gid = entry->gid;
        } else {
            chosen->active = false; // its network interface has no address: nobody can reach it
        }
    }
    return *chosen;
}

std::optional<std::string> ipv4_of(const ibv_gid& gid)
{
    char text[INET_ADDRSTRLEN];
    if (!is_ipv4(gid) || ::inet_ntop(AF_INET, gid.raw + 12, text, sizeof text) == nullptr)
        return std::nullopt;
    return text;
}

std::optional<std::string> host_of(const Context& context)
{
    std::optional<std::string> other;
    for (const ibv_gid_entry& entry : gids_of(context)) {
        // No address of IP's, or of no use without a scope.
        if (entry.gid_type == IBV_GID_TYPE_IB || is_link_local(entry.gid))
            continue;
        if (auto ipv4 = ipv4_of(entry.gid))
            return ipv4;
        char text[INET6_ADDRSTRLEN];
        if (!other && ::inet_ntop(AF_INET6, entry.gid.raw, text, sizeof text) != nullptr)
            other = '[' + std::string{text} + ']';
    }
    return other;
}

} // namespace mrz::verbs
