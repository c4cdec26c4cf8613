// SPDX-License-Identifier: BSD-3-Clause
#include "forwarding.hpp"

#include "engines/all.hpp"
#include "streams.hpp"

#include "common/signals.hpp"

#include <mrzone/base.hpp>

#include <fmt/format.h>
#include <rte_launch.h>
#include <rte_lcore.h>

#include <algorithm>
#include <cerrno>

namespace mrz::testpmd {
namespace {

int work(void* argument)
{
    const auto& [lcore, streams, loop, stop] = *static_cast<const LcoreStreams*>(argument);
    loop(streams, *stop);
    return 0;
}

std::vector<unsigned> workers()
{
    std::vector<unsigned> ids;
    unsigned lcore = 0;
    RTE_LCORE_FOREACH_WORKER(lcore)
    ids.push_back(lcore);
    return ids;
}

void refuse_stopped(std::span<const Port> ports)
{
    const auto stopped = std::ranges::find(ports, Port::State::stopped, &Port::state);
    if (stopped != ports.end())
        throw Error{ENETDOWN, Cause{.trouble = Trouble::invalid,
                                    .what = "forwarding",
                                    .limit = fmt::format("port {} is stopped", stopped->id()),
                                    .remedy = fmt::format("try: port start {}", stopped->id())}};
}

std::vector<Stream> streams_for(const ForwardOptions& options, std::span<const Port> ports, const Domain* domain)
{
    refuse_stopped(ports);
    const Engine& engine = *options.engine;
    const Topology topology = engine.answers ? Topology::loop : options.topology;
    std::vector<Stream> streams;
    for (std::size_t i = 0; i < ports.size(); ++i) {
        const Port& from = ports[i];
        const Port& to = ports[destination(i, ports.size(), topology)];
        // Nobody else gets what was meant for a port that is not there any more.
        if ((engine.receives && !from.open()) || (engine.sends && !to.open()))
            continue;
        const std::uint16_t receiving = engine.receives ? from.options().rx_queues : most_queues;
        const std::uint16_t sending = engine.sends ? to.options().tx_queues : most_queues;
        const auto peer = options.peers.find(to.id());
        for (std::uint16_t queue = 0; queue < std::min(receiving, sending); ++queue) {
            Stream& stream = streams.emplace_back();
            stream.rx_port = from.id();
            stream.rx_queue = queue;
            stream.tx_port = to.id();
            stream.tx_queue = queue;
            stream.burst = options.burst;
            stream.tx_address = to.address();
            // As testpmd names peers: locally administered, with the port's number.
            stream.peer = peer != options.peers.end()
                              ? peer->second
                              : rte_ether_addr{{0x02, 0, 0, 0, 0, static_cast<std::uint8_t>(to.id())}};
            stream.pool = to.pool();
            stream.shape = options.shape;
            stream.tx_offloads = to.tx_offloads();
            if (domain != nullptr)
                stream.reader.emplace(*domain).offline();
        }
    }
    if (streams.empty())
        throw Error{ENODEV, Cause{.trouble = Trouble::invalid,
                                  .what = "forwarding",
                                  .limit = "no port is left that could receive, or be sent to",
                                  .remedy = "start the program again; it takes all ports that there are"}};
    return streams;
}

// What was sent before belongs to the queue that sent it, as in testpmd.
void count_first(std::span<const Stream> first, std::span<Stream> streams)
{
    for (const Stream& sent : first) {
        const auto same = std::ranges::find_if(streams, [&sent](const Stream& stream) {
            return stream.tx_port == sent.tx_port && stream.tx_queue == sent.tx_queue;
        });
        if (same == streams.end())
            continue;
        same->tx_packets.add(sent.tx_packets.value());
        same->dropped.add(sent.dropped.value());
    }
}

} // namespace

Assignment assign(const ForwardOptions& options, std::span<const Port> ports, const Domain* domain)
{
    Assignment assigned;
    assigned.streams = streams_for(options, ports, domain);
    const std::vector<unsigned> ids = forwarding_lcores(options, workers(), rte_get_main_lcore());
    std::size_t first = 0;
    for (const std::size_t count : shares(assigned.streams.size(), ids.size())) {
        assigned.lcores.push_back(
            {.lcore = ids[assigned.lcores.size()], .streams = std::span{assigned.streams}.subspan(first, count)});
        first += count;
    }
    return assigned;
}

Forwarding::~Forwarding()
{
    stop();
}

void Forwarding::start(const ForwardOptions& options, std::span<const Port> ports, const Domain* domain,
                       unsigned bursts_first)
{
    if (running_)
        throw Error{EBUSY, Cause{.trouble = Trouble::busy,
                                 .what = "starting to forward",
                                 .limit = "forwarding runs already",
                                 .remedy = "try: stop"}};
    Assignment next = assign(options, ports, domain);
    if (bursts_first > 0) {
        ForwardOptions sending = options;
        sending.engine = &txonly;
        Assignment first = assign(sending, ports, nullptr);
        send_first(first, bursts_first);
        count_first(first.streams, next.streams);
    }
    assigned_ = std::move(next);
    engine_ = options.engine;
    stop_ = false;
    running_ = true;
    launch(assigned_, options.lookup ? engine_->loop_with_lookup : engine_->loop);
}

void Forwarding::send_first(Assignment& first, unsigned bursts)
{
    stop_ = true; // each stream once
    for (unsigned i = 0; i < bursts && app::pending_interrupt() == 0; ++i) {
        launch(first, txonly.loop);
        rte_eal_mp_wait_lcore();
    }
}

void Forwarding::launch(Assignment& assigned, ForwardLoop loop)
{
    for (LcoreStreams& one : assigned.lcores) {
        one.loop = loop;
        one.stop = &stop_;
        rte_eal_remote_launch(work, &one, one.lcore); // only a busy lcore refuses, and all of them wait
    }
}

void Forwarding::stop()
{
    if (!running_)
        return;
    stop_ = true;
    rte_eal_mp_wait_lcore();
    running_ = false;
}

} // namespace mrz::testpmd
