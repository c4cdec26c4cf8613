// SPDX-License-Identifier: BSD-3-Clause
#include "reports.hpp"

#include "statistics_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <rte_lcore.h>

#include <algorithm>
#include <map>
#include <vector>

namespace mrz::testpmd {
namespace {

//! The part of a stream's counts that is its receiving port's.
ForwardCounts received(const ForwardCounts& stream)
{
    ForwardCounts counts = stream;
    counts.tx_packets = counts.tx_dropped = 0;
    return counts;
}

//! And its transmitting port's.
ForwardCounts sent(const ForwardCounts& stream)
{
    return {.tx_packets = stream.tx_packets, .tx_dropped = stream.tx_dropped};
}

std::size_t started_ports(const Session& session)
{
    return static_cast<std::size_t>(std::ranges::count(session.ports(), Port::State::started, &Port::state));
}

} // namespace

std::string forward_statistics(const Session& session)
{
    const auto streams = session.forwarding().streams();
    const std::vector<ForwardCounts> counts = session.forward_counts();
    const Engine* const engine = session.forwarding().engine();
    const CountKinds kinds{.checksums = engine != nullptr && engine->name == "csum",
                           .keys = session.forward_options().lookup};

    std::map<std::uint16_t, ForwardCounts> ports;
    for (std::size_t i = 0; i < streams.size(); ++i) {
        ports[streams[i].rx_port] += received(counts[i]);
        ports[streams[i].tx_port] += sent(counts[i]);
    }
    std::string text;
    // As many streams as ports: the ports' blocks say it all.
    if (streams.size() > ports.size())
        for (std::size_t i = 0; i < streams.size(); ++i)
            text += stream_forward_text({.rx_port = streams[i].rx_port,
                                         .rx_queue = streams[i].rx_queue,
                                         .tx_port = streams[i].tx_port,
                                         .tx_queue = streams[i].tx_queue},
                                        counts[i], kinds);
    ForwardCounts sum;
    for (auto& [port, port_counts] : ports) {
        const Session::Losses losses = session.losses(port);
        port_counts += {.rx_dropped = losses.missed, .rx_errors = losses.errors, .rx_no_buffer = losses.no_buffer};
        text += port_forward_text(port, port_counts, kinds);
        sum += port_counts;
    }
    return text + sum_forward_text(sum, kinds);
}

std::string forward_configuration(Session& session)
{
    const Engine* const engine = session.forward_options().engine;
    const Assignment assigned = session.next_assignment();
    std::string text =
        fmt::format("{} packet forwarding - ports={} - cores={} - streams={} - NUMA support enabled, "
                    "MP allocation mode: {}\n",
                    engine != nullptr ? engine->name : "no", started_ports(session), assigned.lcores.size(),
                    assigned.streams.size(), to_string(session.memory().packets().kind));
    for (const LcoreStreams& lcore : assigned.lcores) {
        text += fmt::format("Logical Core {} (socket {}) forwards packets on {} streams:", lcore.lcore,
                            rte_lcore_to_socket_id(lcore.lcore), lcore.streams.size());
        for (const Stream& stream : lcore.streams)
            text += fmt::format("\n  RX P={}/Q={} (socket {}) -> TX P={}/Q={} (socket {}) peer={}", stream.rx_port,
                                stream.rx_queue, rte_eth_dev_socket_id(stream.rx_port), stream.tx_port,
                                stream.tx_queue, rte_eth_dev_socket_id(stream.tx_port), address_text(stream.peer));
        text += "\n";
    }
    return text + "\n";
}

std::string lcore_configuration(const Session& session)
{
    const Assignment assigned = session.next_assignment();
    std::vector<unsigned> lcores;
    for (const LcoreStreams& lcore : assigned.lcores)
        lcores.push_back(lcore.lcore);
    return fmt::format("List of forwarding lcores(nb={}):  {}\n", lcores.size(), fmt::join(lcores, " "));
}

std::string queue_configuration(const Session& session)
{
    const ForwardOptions& options = session.forward_options();
    std::string text = fmt::format("  {} packet forwarding packets/burst={}\n",
                                   options.engine != nullptr ? options.engine->name : "no", options.burst);
    if (options.engine != nullptr && !options.engine->receives)
        text +=
            fmt::format("  packet len={} - nb packet segments={}\n", options.shape.length(), options.shape.segments);
    text += fmt::format("  nb forwarding cores={} - nb forwarding ports={}\n", options.lcore_count(),
                        started_ports(session));
    for (const Port& port : session.ports()) {
        const PortOptions& queues = port.options();
        text += fmt::format("  port {}: RX queue number: {} Tx queue number: {}\n", port.id(), queues.rx_queues,
                            queues.tx_queues);
        text += fmt::format("    Tx offloads={:#x}\n    RX desc={} - TX desc={}\n", port.tx_offloads(),
                            queues.rx_descriptors, queues.tx_descriptors);
    }
    return text;
}

} // namespace mrz::testpmd
