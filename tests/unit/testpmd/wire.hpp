// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Two queues that a test fills and reads, without a device.
#pragma once

#include "packets.hpp"

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <deque>
#include <stdexcept>
#include <vector>

namespace mrz::test {

inline Bytes bytes_of(const rte_mbuf* packet)
{
    Bytes bytes;
    for (; packet != nullptr; packet = packet->next) {
        const auto* data = rte_pktmbuf_mtod(packet, const std::uint8_t*);
        bytes.insert(bytes.end(), data, data + packet->data_len);
    }
    return bytes;
}

//! A packet cut into segments of the sizes given, the last of which takes what is left. All other bytes of its
//! buffers are \p filler.
inline rte_mbuf* make_packet(rte_mempool& pool, const Bytes& bytes, const std::vector<std::size_t>& cuts,
                             std::uint8_t filler)
{
    std::size_t done = 0;
    rte_mbuf* first = nullptr;
    for (std::size_t i = 0; i <= cuts.size(); ++i) {
        rte_mbuf* segment = rte_pktmbuf_alloc(&pool);
        if (segment == nullptr)
            throw std::runtime_error{"the pool is empty"};
        const std::size_t left = bytes.size() - done;
        const std::size_t size = i < cuts.size() ? std::min(cuts[i], left) : left;
        std::memset(segment->buf_addr, filler, segment->buf_len);
        if (char* data = rte_pktmbuf_append(segment, static_cast<std::uint16_t>(size)); data == nullptr)
            throw std::runtime_error{"too large for a buffer"};
        else if (size > 0)
            std::memcpy(data, bytes.data() + done, size);
        done += size;
        if (first == nullptr)
            first = segment;
        else if (rte_pktmbuf_chain(first, segment) != 0)
            throw std::runtime_error{"too many segments"};
    }
    return first;
}

//! Bytes of a packet's buffers that are not its own, and are not \p filler any more.
inline std::size_t spoilt(const rte_mbuf* packet, std::uint8_t filler)
{
    std::size_t count = 0;
    for (; packet != nullptr; packet = packet->next) {
        const auto* buffer = static_cast<const std::uint8_t*>(packet->buf_addr);
        const std::size_t after = packet->data_off + std::size_t{packet->data_len};
        for (std::size_t i = 0; i < packet->buf_len; ++i)
            count += (i < packet->data_off || i >= after) && buffer[i] != filler;
    }
    return count;
}

//! A port's fast path, which is all of it that engines see. Sets \p stop when nothing is left to receive, or enough
//! bursts were sent.
class Wire {
  public:
    static constexpr std::uint16_t port = 3;
    static constexpr std::uint16_t queue = 1;

    explicit Wire(std::atomic<bool>& stop) : stop_{stop}
    {
        struct rte_eth_fp_ops& ops = rte_eth_fp_ops[port];
        before_ = ops;
        ops.rx_pkt_burst = [](void* self, rte_mbuf** packets, std::uint16_t count) {
            return static_cast<Wire*>(self)->receive(packets, count);
        };
        ops.tx_pkt_burst = [](void* self, rte_mbuf** packets, std::uint16_t count) {
            return static_cast<Wire*>(self)->send(packets, count);
        };
        ops.tx_pkt_prepare = [](void* self, rte_mbuf**, std::uint16_t count) {
            return std::min(count, static_cast<Wire*>(self)->prepares);
        };
        ops.rxq = {.data = queues_, .clbk = callbacks_};
        ops.txq = ops.rxq;
    }
    Wire(const Wire&) = delete;
    Wire& operator=(const Wire&) = delete;
    ~Wire()
    {
        rte_pktmbuf_free_bulk(sent.data(), static_cast<unsigned>(sent.size()));
        for (rte_mbuf* packet : to_receive)
            rte_pktmbuf_free(packet);
        rte_eth_fp_ops[port] = before_;
    }

    std::deque<rte_mbuf*> to_receive;
    std::vector<rte_mbuf*> sent;
    std::size_t room = SIZE_MAX;         //!< For as many packets sent.
    std::uint16_t prepares = UINT16_MAX; //!< So many of a burst.
    unsigned bursts_wanted = 0;          //!< 0: no matter how many.
    bool keep_bytes = false;
    std::vector<Bytes> offered; //!< To send, whether there was room or not; if they are to be kept.

  private:
    std::uint16_t receive(rte_mbuf** packets, std::uint16_t count)
    {
        std::uint16_t received = 0;
        for (; received < count && !to_receive.empty(); to_receive.pop_front())
            packets[received++] = to_receive.front();
        if (to_receive.empty() && bursts_wanted == 0)
            stop_ = true;
        return received;
    }
    std::uint16_t send(rte_mbuf** packets, std::uint16_t count)
    {
        const auto taken = static_cast<std::uint16_t>(std::min<std::size_t>(count, room - sent.size()));
        sent.insert(sent.end(), packets, packets + taken);
        for (std::uint16_t i = 0; keep_bytes && i < count; ++i)
            offered.push_back(bytes_of(packets[i]));
        if (bursts_wanted > 0 && --bursts_wanted == 0)
            stop_ = true;
        return taken;
    }

    std::atomic<bool>& stop_;
    struct rte_eth_fp_ops before_;
    void* queues_[queue + 1] = {nullptr, this};
    void* callbacks_[queue + 1] = {};
};

} // namespace mrz::test
