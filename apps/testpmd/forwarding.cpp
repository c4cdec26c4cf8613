// SPDX-License-Identifier: BSD-3-Clause
#include "forwarding.hpp"

#include "streams.hpp"

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

std::vector<Stream> streams_for(const ForwardOptions& options, std::span<const Port> ports, const Domain* domain)
{
    std::vector<const Port*> started;
    for (const Port& port : ports)
        if (port.state() == Port::State::started)
            started.push_back(&port);
    if (started.empty())
        throw Error{ENODEV, Cause{.trouble = Trouble::invalid,
                                  .what = "forwarding",
                                  .limit = "no port is started",
                                  .remedy = "try: port start all"}};
    const Topology topology = options.engine->answers ? Topology::loop : options.topology;
    std::vector<Stream> streams;
    for (std::size_t i = 0; i < started.size(); ++i) {
        const Port& from = *started[i];
        const Port& to = *started[destination(i, started.size(), topology)];
        const std::uint16_t receiving = options.engine->receives ? from.options().rx_queues : most_queues;
        const std::uint16_t sending = options.engine->sends ? to.options().tx_queues : most_queues;
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
    return streams;
}

} // namespace

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
    std::vector<Stream> streams = streams_for(options, ports, domain);
    const std::vector<unsigned> all = workers();
    const std::vector<unsigned> ids = forwarding_lcores(options, all, rte_get_main_lcore());

    streams_ = std::move(streams);
    lcores_.clear();
    std::size_t first = 0;
    for (const std::size_t count : shares(streams_.size(), ids.size())) {
        lcores_.push_back({.lcore = ids[lcores_.size()],
                           .streams = std::span{streams_}.subspan(first, count),
                           .loop = nullptr,
                           .stop = &stop_});
        first += count;
    }
    engine_ = options.engine;
    began_ = std::chrono::steady_clock::now();
    if (const Engine* const txonly = find_engine("txonly"); txonly != nullptr && bursts_first > 0) {
        stop_ = true; // each stream once
        for (unsigned i = 0; i < bursts_first; ++i) {
            launch(txonly->loop);
            rte_eal_mp_wait_lcore();
        }
    }
    stop_ = false;
    running_ = true;
    launch(options.lookup ? engine_->loop_with_lookup : engine_->loop);
}

void Forwarding::launch(ForwardLoop loop)
{
    for (LcoreStreams& one : lcores_) {
        one.loop = loop;
        rte_eal_remote_launch(work, &one, one.lcore); // only a busy lcore refuses, and all of them wait
    }
}

void Forwarding::stop()
{
    if (!running_)
        return;
    stop_ = true;
    rte_eal_mp_wait_lcore();
    ended_ = std::chrono::steady_clock::now();
    running_ = false;
}

std::chrono::nanoseconds Forwarding::duration() const
{
    return (running_ ? std::chrono::steady_clock::now() : ended_) - began_;
}

} // namespace mrz::testpmd
