// SPDX-License-Identifier: BSD-3-Clause
#include "session.hpp"

#include "common/output.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <rte_lcore.h>

#include <algorithm>
#include <bit>
#include <cerrno>

namespace mrz::testpmd {
namespace {

std::vector<PortDevice> checked_devices(const Options& options)
{
    std::vector<PortDevice> devices = port_devices();
    const std::uint64_t room = options.memory.buffer_size - std::uint64_t{RTE_PKTMBUF_HEADROOM};
    for (const PortDevice& device : devices)
        if (const std::uint64_t bytes = made_packet_bytes(device); bytes > room)
            throw Error{EINVAL, Cause{.trouble = Trouble::invalid,
                                      .what = fmt::format("packets of port {} ({}, size={})", device.port,
                                                          device.driver, bytes),
                                      .limit = "bytes of a buffer (--mbuf-size) without its headroom",
                                      .present = room,
                                      .need = bytes,
                                      .remedy = "give a smaller size=, or a larger --mbuf-size"}};
    return devices;
}

// What all queues can hold at once, and what lcores keep for themselves; never so few that a driver's own rings, of
// which it does not tell, starve.
std::uint32_t enough_buffers(std::span<const PortDevice> devices, const Options& options)
{
    std::uint32_t buffers = 0;
    for (const PortDevice& device : devices) {
        const rte_eth_dev_info info = info_of(device.port);
        buffers += std::uint32_t{options.port.rx_queues} * receive_descriptors(info, options.port) +
                   std::uint32_t{options.port.tx_queues} * transmit_descriptors(info, options.port);
    }
    buffers += rte_lcore_count() * (options.memory.cache * 3 / 2 + max_burst);
    return std::bit_ceil(std::max(buffers + 1, std::uint32_t{16384})) - 1; // one short of a power of two: a full ring
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

// Of a vector that is const, or of one that is not.
template <class Ports>
auto& find_port(Ports& ports, std::uint16_t id)
{
    const auto found = std::ranges::find(ports, id, &Port::id);
    if (found == ports.end()) {
        std::vector<std::uint16_t> ids;
        for (const Port& port : ports)
            ids.push_back(port.id());
        throw Error{ENODEV, Cause{.trouble = Trouble::invalid,
                                  .what = fmt::format("port {}", id),
                                  .limit = "there is none of that number",
                                  .remedy = fmt::format("give one of: {}", fmt::join(ids, ", "))}};
    }
    return *found;
}

std::vector<std::uint16_t> clear_by(const std::vector<Port*>& ports, int (*clear)(std::uint16_t))
{
    std::vector<std::uint16_t> cleared;
    for (const Port* const port : ports)
        if (port->open() && clear(port->id()) == 0)
            cleared.push_back(port->id());
    return cleared;
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

Session::Session(const Options& options) : Session{options, checked_devices(options)} {}

Session::Session(const Options& options, const std::vector<PortDevice>& devices)
    : memory_{options.memory, devices, enough_buffers(devices, options)}, forward_{options.forward},
      buffer_size_{options.memory.buffer_size}
{
    ports_.reserve(devices.size());
    for (const PortDevice& device : devices)
        ports_.emplace_back(device.port, options.port, memory_.packets().pool.get());
    check_shape(forward_.shape);
    if (Arena* const arena = memory_.arena())
        map_for_all(*arena, ports_);
    start_ports();
}

Session::~Session()
{
    forwarding_.stop();
    // All of them before the first is closed: what one still sends may be another's.
    for (Port& port : ports_) {
        try {
            port.stop();
        } catch (const Error& error) {
            app::say("{}", error.what());
        }
    }
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
    const auto first_only = std::ranges::find_if_not(ports_, sends_all_segments, &Port::driver);
    if (shape.segments > 1 && first_only != ports_.end())
        throw Error{ENOTSUP, Cause{.trouble = Trouble::unsupported,
                                   .what = fmt::format("packets of {} segments (txpkts)", shape.segments),
                                   .limit = fmt::format("port {} ({}) sends only the first of them", first_only->id(),
                                                        first_only->driver()),
                                   .present = 1,
                                   .need = shape.segments,
                                   .remedy = fmt::format("give one segment, for example: set txpkts {}",
                                                         std::min<std::size_t>(shape.length(), room))}};
}

void Session::refuse_while_forwarding(std::string_view what) const
{
    if (forwarding_.running())
        throw Error{EBUSY, Cause{.trouble = Trouble::busy,
                                 .what = std::string{what},
                                 .limit = "forwarding runs",
                                 .remedy = "try: stop"}};
}

Assignment Session::next_assignment() const
{
    return assign(forward_, ports_, nullptr);
}

void Session::start_forwarding(unsigned bursts_first)
{
    start_forwarding(forward_, bursts_first);
}

void Session::start_forwarding(const ForwardOptions& options, unsigned bursts_first)
{
    auto lost = all_losses();
    forwarding_.start(options, ports_, options.lookup && memory_.domain() ? &*memory_.domain() : nullptr,
                      bursts_first);
    running_ = options;
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
        chosen.push_back(&find_port(ports_, *id));
    else
        for (Port& port : ports_)
            if (port.open())
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
    const Engine* const engine = find_engine(name);
    if (engine == nullptr)
        throw Error{EINVAL, Cause{.trouble = Trouble::invalid,
                                  .what = fmt::format("the forward mode {}", name),
                                  .limit = "there is none of that name",
                                  .remedy = "give one of: " + engine_names()}};
    forward_.engine = engine;
}

void Session::set_burst(std::uint16_t burst)
{
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
    check_shape(shape);
    forward_.shape = shape;
}

std::vector<std::uint16_t> Session::clear_port_stats(std::optional<std::uint16_t> port)
{
    return clear_by(chosen(port), rte_eth_stats_reset);
}

std::vector<std::uint16_t> Session::clear_port_xstats(std::optional<std::uint16_t> port)
{
    return clear_by(chosen(port), rte_eth_xstats_reset);
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
    if (running)
        start_forwarding(running_, 0);
}

const Port& Session::port(std::uint16_t id) const
{
    return find_port(ports_, id);
}

std::vector<ForwardCounts> Session::totals() const
{
    std::vector<ForwardCounts> totals;
    for (const Stream& stream : forwarding_.streams())
        totals.push_back(counts_of(stream));
    return totals;
}

std::map<std::uint16_t, Session::Losses> Session::all_losses() const
{
    std::map<std::uint16_t, Losses> all;
    for (const Port& port : ports_)
        if (port.open())
            all[port.id()] = losses_of(port.id());
    return all;
}

Session::Losses Session::losses(std::uint16_t port) const
{
    if (!this->port(port).open())
        return {};
    Losses losses = losses_of(port);
    const auto before = lost_before_.find(port);
    if (before == lost_before_.end())
        return losses;
    losses.missed = since(losses.missed, before->second.missed);
    losses.errors = since(losses.errors, before->second.errors);
    losses.no_buffer = since(losses.no_buffer, before->second.no_buffer);
    return losses;
}

std::vector<ForwardCounts> Session::forward_counts() const
{
    std::vector<ForwardCounts> counts = totals();
    for (std::size_t i = 0; i < counts.size(); ++i)
        counts[i] -= cleared_[i];
    return counts;
}

} // namespace mrz::testpmd
