// SPDX-License-Identifier: BSD-3-Clause
#include "session.hpp"

#include "common/output.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <rte_lcore.h>

#include <algorithm>
#include <cerrno>

namespace mrz::testpmd {
namespace {

std::uint64_t next_port(std::uint64_t from)
{
    return rte_eth_find_next_owned_by(static_cast<std::uint16_t>(from), RTE_ETH_DEV_NO_OWNER);
}

std::vector<PoolNeed> needs_of_all_ports()
{
    std::vector<PoolNeed> needs;
    for (std::uint64_t id = next_port(0); id < RTE_MAX_ETHPORTS; id = next_port(id + 1)) {
        const auto port = static_cast<std::uint16_t>(id);
        const int node = rte_eth_dev_socket_id(port);
        needs.push_back({.port = port,
                         .driver = info_of(port).driver_name,
                         .node = node < 0 ? std::nullopt : std::optional{node}});
    }
    if (needs.empty())
        throw Error{ENODEV, Cause{.trouble = Trouble::invalid,
                                  .what = "forwarding",
                                  .limit = "the EAL found no port",
                                  .remedy = "give it devices, for example: --vdev=net_null0 --vdev=net_null1"}};
    return needs;
}

// What all queues can hold at once, and what lcores keep for themselves; never so few that a driver's own rings, of
// which it does not tell, starve.
std::uint32_t enough_buffers(std::span<const PoolNeed> needs, const Options& options)
{
    std::uint32_t buffers = 0;
    for (const PoolNeed& need : needs) {
        const rte_eth_dev_info info = info_of(need.port);
        buffers += std::uint32_t{options.port.rx_queues} * receive_descriptors(info, options.port) +
                   std::uint32_t{options.port.tx_queues} * transmit_descriptors(info, options.port);
    }
    buffers += rte_lcore_count() * (options.memory.cache * 3 / 2 + max_burst);
    return std::max(buffers, std::uint32_t{16384}) - 1; // pools are best one short of a power of two
}

Session::Losses losses_of(std::uint16_t port)
{
    rte_eth_stats stats = {};
    if (rte_eth_stats_get(port, &stats) != 0)
        return {};
    return {.missed = stats.imissed, .errors = stats.ierrors, .no_buffer = stats.rx_nombuf};
}

// A device's counters may have been cleared since.
std::uint64_t since(std::uint64_t now, std::uint64_t before)
{
    return now >= before ? now - before : now;
}

void map_for_all(Arena& arena, std::span<const Port> ports)
{
    std::vector<std::string> said;
    for (const Port& port : ports) {
        try {
            arena.map_for(port.id());
        } catch (const Error& error) {
            // Ports that need no mapping work all the same; one that does fails by itself.
            if (std::ranges::find(said, error.cause().limit) == said.end())
                app::say("{}", error.what());
            said.push_back(error.cause().limit);
        }
    }
}

} // namespace

Session::Session(const Options& options) : Session{options, needs_of_all_ports()} {}

Session::Session(const Options& options, const std::vector<PoolNeed>& needs)
    : memory_{options.memory, needs, enough_buffers(needs, options)}, forward_{options.forward},
      buffer_size_{options.memory.buffer_size}
{
    check_shape(forward_.shape);
    ports_.reserve(needs.size());
    for (const PoolNeed& need : needs)
        ports_.emplace_back(need.port, options.port, memory_.pool_for(need.port));
    if (Arena* const arena = memory_.arena())
        map_for_all(*arena, ports_);
    start_ports();
}

Session::~Session()
{
    forwarding_.stop();
}

void Session::check_shape(const PacketShape& shape) const
{
    const std::size_t room = buffer_size_ - std::size_t{RTE_PKTMBUF_HEADROOM};
    const auto end = shape.lengths.begin() + shape.segments;
    const auto longest = std::max_element(shape.lengths.begin(), end);
    if (*longest > room)
        throw Error{EINVAL,
                    Cause{.trouble = Trouble::invalid,
                          .what = "packets that engines make (txpkts)",
                          .limit = "bytes of a segment, which is one buffer (--mbuf-size) without its headroom",
                          .present = room,
                          .need = *longest,
                          .remedy = "give shorter segments, or a larger --mbuf-size"}};
}

void Session::refuse_while_forwarding(std::string_view what) const
{
    if (forwarding_.running())
        throw Error{EBUSY, Cause{.trouble = Trouble::busy,
                                 .what = std::string{what},
                                 .limit = "forwarding runs",
                                 .remedy = "try: stop"}};
}

void Session::start_forwarding(unsigned bursts_first)
{
    auto lost = all_losses();
    forwarding_.start(forward_, ports_, forward_.lookup && memory_.domain() ? &*memory_.domain() : nullptr,
                      bursts_first);
    cleared_.assign(forwarding_.streams().size(), {});
    lost_before_ = std::move(lost);
}

void Session::stop_forwarding()
{
    forwarding_.stop();
}

std::vector<Port*> Session::chosen(std::optional<std::uint16_t> id)
{
    std::vector<Port*> chosen;
    if (id)
        chosen.push_back(const_cast<Port*>(&port(*id)));
    else
        for (Port& port : ports_)
            if (port.state() == Port::State::started || port.state() == Port::State::stopped)
                chosen.push_back(&port);
    return chosen;
}

void Session::start_ports(std::optional<std::uint16_t> port)
{
    refuse_while_forwarding("starting ports");
    for (Port* const one : chosen(port))
        one->start();
}

void Session::stop_ports(std::optional<std::uint16_t> port)
{
    refuse_while_forwarding("stopping ports");
    for (Port* const one : chosen(port))
        one->stop();
}

void Session::close_ports(std::optional<std::uint16_t> port)
{
    refuse_while_forwarding("closing ports");
    for (Port* const one : chosen(port))
        one->close();
}

void Session::set_engine(std::string_view name)
{
    refuse_while_forwarding("setting the forward mode");
    const Engine* const engine = find_engine(name);
    if (engine == nullptr)
        throw Error{EINVAL, Cause{.trouble = Trouble::invalid,
                                  .what = fmt::format("the forward mode {}", name),
                                  .limit = "there is none of that name",
                                  .remedy = "see: help"}};
    forward_.engine = engine;
}

void Session::set_burst(std::uint16_t burst)
{
    refuse_while_forwarding("setting the burst");
    if (burst == 0 || burst > max_burst)
        throw Error{EINVAL, Cause{.trouble = Trouble::invalid,
                                  .what = "setting the burst",
                                  .limit = "packets of a burst, at least 1 and at most",
                                  .present = max_burst,
                                  .need = burst,
                                  .remedy = fmt::format("give 1 to {}", max_burst)}};
    forward_.burst = burst;
}

void Session::set_shape(const PacketShape& shape)
{
    refuse_while_forwarding("setting the packets that engines make");
    check_shape(shape);
    forward_.shape = shape;
}

void Session::clear_port_stats(std::optional<std::uint16_t> port)
{
    for (const Port* const one : chosen(port))
        rte_eth_stats_reset(one->id());
}

void Session::clear_port_xstats(std::optional<std::uint16_t> port)
{
    for (const Port* const one : chosen(port))
        rte_eth_xstats_reset(one->id());
}

void Session::clear_forward_stats()
{
    cleared_ = totals();
    lost_before_ = all_losses();
}

bool Session::any_vanished() const
{
    return std::ranges::any_of(ports_, &Port::vanished);
}

void Session::drop_vanished()
{
    const bool running = forwarding_.running();
    forwarding_.stop(); // no lcore may be in a driver whose port is closed under it
    for (Port& port : ports_)
        port.close_if_vanished();
    if (running && std::ranges::find(ports_, Port::State::started, &Port::state) != ports_.end())
        start_forwarding();
}

const Port& Session::port(std::uint16_t id) const
{
    const auto found = std::ranges::find(ports_, id, &Port::id);
    if (found == ports_.end()) {
        std::vector<std::uint16_t> ids;
        for (const Port& port : ports_)
            ids.push_back(port.id());
        throw Error{ENODEV, Cause{.trouble = Trouble::invalid,
                                  .what = fmt::format("port {}", id),
                                  .limit = "there is none of that number",
                                  .remedy = fmt::format("give one of: {}", fmt::join(ids, ", "))}};
    }
    return *found;
}

std::vector<Session::Counts> Session::totals() const
{
    std::vector<Counts> totals;
    for (const Stream& stream : forwarding_.streams())
        totals.push_back({.rx_packets = stream.rx_packets.value(),
                          .tx_packets = stream.tx_packets.value(),
                          .dropped = stream.dropped.value(),
                          .bad_ip_sum = stream.bad_ip_sum.value(),
                          .bad_l4_sum = stream.bad_l4_sum.value(),
                          .keys_found = stream.keys_found.value(),
                          .keys_missing = stream.keys_missing.value()});
    return totals;
}

std::map<std::uint16_t, Session::Losses> Session::all_losses() const
{
    std::map<std::uint16_t, Losses> all;
    for (const Port& port : ports_)
        all[port.id()] = losses_of(port.id());
    return all;
}

Session::Losses Session::losses(std::uint16_t port) const
{
    Losses losses = losses_of(port);
    const auto before = lost_before_.find(port);
    if (before == lost_before_.end())
        return losses;
    losses.missed = since(losses.missed, before->second.missed);
    losses.errors = since(losses.errors, before->second.errors);
    losses.no_buffer = since(losses.no_buffer, before->second.no_buffer);
    return losses;
}

std::vector<Session::Counts> Session::forward_counts() const
{
    std::vector<Counts> counts = totals();
    for (std::size_t i = 0; i < counts.size(); ++i) {
        counts[i].rx_packets -= cleared_[i].rx_packets;
        counts[i].tx_packets -= cleared_[i].tx_packets;
        counts[i].dropped -= cleared_[i].dropped;
        counts[i].bad_ip_sum -= cleared_[i].bad_ip_sum;
        counts[i].bad_l4_sum -= cleared_[i].bad_l4_sum;
        counts[i].keys_found -= cleared_[i].keys_found;
        counts[i].keys_missing -= cleared_[i].keys_missing;
    }
    return counts;
}

} // namespace mrz::testpmd
