// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! One direction of forwarding: a receive queue, a transmit queue, and what went through.
#pragma once

#include <mrzone/reader.hpp>

#include <rte_config.h>
#include <rte_ether.h>
#include <rte_mbuf.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace mrz::testpmd {

//! The most packets of a burst, as in testpmd.
constexpr std::uint16_t max_burst = 512;

//! Counts for one thread, while others may read. Adding costs what adding to a plain integer does.
class Counter {
  public:
    Counter() = default;
    Counter(const Counter& other) noexcept : value_{other.value()} {}
    Counter& operator=(const Counter&) = delete;
    ~Counter() = default;

    void add(std::uint64_t more) noexcept
    {
        value_.store(value_.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
    }
    [[nodiscard]] std::uint64_t value() const noexcept { return value_.load(std::memory_order_relaxed); }

  private:
    std::atomic<std::uint64_t> value_ = 0;
};

//! The most queues of a port, of either kind.
constexpr std::uint16_t most_queues = RTE_MAX_QUEUES_PER_PORT;
//! The most segments of a packet, as in testpmd.
constexpr std::size_t max_segments = 255;

//! How packets that an engine makes are cut into segments.
struct PacketShape {
    std::array<std::uint16_t, max_segments> lengths = {64}; //!< Bytes.
    std::uint8_t segments = 1;

    [[nodiscard]] std::uint32_t length() const noexcept
    {
        std::uint32_t sum = 0;
        for (std::uint8_t i = 0; i < segments; ++i)
            sum += lengths[i];
        return sum;
    }
};

//! Belongs to one lcore while forwarding runs. Its counters may be read by others.
struct alignas(RTE_CACHE_LINE_SIZE) Stream {
    std::uint16_t rx_port = 0;
    std::uint16_t rx_queue = 0;
    std::uint16_t tx_port = 0;
    std::uint16_t tx_queue = 0;
    std::uint16_t burst = 32;
    rte_ether_addr tx_address = {}; //!< The transmit port's own.
    rte_ether_addr peer = {};       //!< Who is behind the transmit port.
    rte_mempool* pool = nullptr;    //!< For the engines that make packets: one that the transmit port can send from.
    PacketShape shape = {};
    std::uint64_t tx_offloads = 0;     //!< What the transmit port was configured with: RTE_ETH_TX_OFFLOAD_….
    std::optional<Reader> reader = {}; //!< For --lookup; online only while the loop runs.

    Counter rx_packets;
    Counter tx_packets;
    Counter dropped;    //!< Which the transmit queue did not take.
    Counter bad_ip_sum; //!< Received with a wrong IP checksum; csum only.
    Counter bad_l4_sum; //!< Received with a wrong TCP, UDP or SCTP checksum; csum only.
    Counter keys_found; //!< Packets whose memory has a key.
    Counter keys_missing;
};

} // namespace mrz::testpmd
