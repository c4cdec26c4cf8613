// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! The loop that all engines share, compiled once an engine, so that it holds what that engine needs and no more.
#pragma once

#include "engine.hpp"
#include "free_packets.hpp"

#include <rte_branch_prediction.h>
#include <rte_ethdev.h>

#include <concepts>
#include <optional>
#include <span>
#include <vector>

namespace mrz::testpmd {

//! An engine that handles received packets. handle() gives how many packets are to be sent, which it moved to the
//! front of the array; it frees the others, or keeps them. The array has room for max_burst.
template <class E>
concept Handler = requires(E engine, rte_mbuf** packets, std::uint16_t count)
{
    requires std::constructible_from<E, Stream&>;
    {
        engine.handle(packets, count)
        } -> std::same_as<std::uint16_t>;
};
//! An engine that makes packets. make() gives how many, at most \p count.
template <class E>
concept Maker = requires(E engine, rte_mbuf** packets, std::uint16_t count)
{
    requires std::constructible_from<E, Stream&>;
    {
        engine.make(packets, count)
        } -> std::same_as<std::uint16_t>;
};

//! A maker that also empties its receive queue says so by a constant: the loop counts and frees what was received.
template <class E>
concept Drainer = Maker<E> && requires
{
    requires E::drains;
};
//! An engine whose streams are to send to the port that they receive from says so by a constant.
template <class E>
concept Answerer = requires
{
    requires E::answers;
};

namespace detail {

inline void look_up(Stream& stream, rte_mbuf* const* packets, std::uint16_t count)
{
    std::uint64_t found = 0;
    std::uint64_t missing = 0;
    for (std::uint16_t i = 0; i < count; ++i)
        for (const rte_mbuf* segment = packets[i]; segment != nullptr; segment = segment->next)
            ++(stream.reader->lookup(rte_pktmbuf_mtod(segment, const void*), segment->data_len) ? found : missing);
    stream.keys_found.add(found);
    stream.keys_missing.add(missing);
}

//! Keeps the readers of an lcore's streams online.
class ReadersOnline {
  public:
    explicit ReadersOnline(std::span<Stream> streams) : streams_{streams}
    {
        for (Stream& stream : streams_)
            stream.reader->online();
    }
    ReadersOnline(const ReadersOnline&) = delete;
    ReadersOnline& operator=(const ReadersOnline&) = delete;
    ~ReadersOnline()
    {
        for (Stream& stream : streams_)
            stream.reader->offline();
    }

  private:
    std::span<Stream> streams_;
};

template <bool lookup>
void drain(Stream& stream)
{
    rte_mbuf* packets[max_burst];
    const std::uint16_t count = rte_eth_rx_burst(stream.rx_port, stream.rx_queue, packets, stream.burst);
    if (count == 0)
        return;
    stream.rx_packets.add(count);
    if constexpr (lookup)
        look_up(stream, packets, count);
    free_packets(packets, count);
}

inline void send(Stream& stream, rte_mbuf** packets, std::uint16_t count)
{
    const std::uint16_t sent = rte_eth_tx_burst(stream.tx_port, stream.tx_queue, packets, count);
    stream.tx_packets.add(sent);
    if (unlikely(sent < count)) {
        stream.dropped.add(static_cast<std::uint64_t>(count - sent));
        free_packets(packets + sent, static_cast<std::uint16_t>(count - sent));
    }
}

} // namespace detail

template <class E, bool lookup>
requires Handler<E> || Maker<E>
void forward(std::span<Stream> streams, const std::atomic<bool>& stop)
{
    std::vector<E> engines;
    engines.reserve(streams.size());
    for (Stream& stream : streams)
        engines.emplace_back(stream);
    [[maybe_unused]] std::optional<detail::ReadersOnline> online;
    if constexpr (lookup)
        online.emplace(streams);
    do {
        for (std::size_t i = 0; i < engines.size(); ++i) {
            Stream& stream = streams[i];
            if constexpr (lookup)
                stream.reader->quiescent();
            rte_mbuf* packets[max_burst];
            std::uint16_t count = 0;
            if constexpr (Handler<E>) {
                count = rte_eth_rx_burst(stream.rx_port, stream.rx_queue, packets, stream.burst);
                if (unlikely(count == 0))
                    continue;
                stream.rx_packets.add(count);
                if constexpr (lookup)
                    detail::look_up(stream, packets, count);
                count = engines[i].handle(packets, count);
            } else {
                if constexpr (Drainer<E>)
                    detail::drain<lookup>(stream);
                count = engines[i].make(packets, stream.burst);
                if constexpr (lookup)
                    detail::look_up(stream, packets, count);
            }
            if constexpr (E::sends) {
                if (count > 0)
                    detail::send(stream, packets, count);
            }
        }
    } while (!stop.load(std::memory_order_relaxed));
}

//! \p E also says, as a constant, whether it sends.
template <class E>
constexpr Engine make_engine(std::string_view name, std::string_view what)
{
    return {.name = name,
            .what = what,
            .receives = Handler<E> || Drainer<E>,
            .sends = E::sends,
            .answers = Answerer<E>,
            .loop = forward<E, false>,
            .loop_with_lookup = forward<E, true>};
}

} // namespace mrz::testpmd
