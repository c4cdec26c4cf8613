// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! An engine between two queues, with a real pool.
#pragma once

#include "wire.hpp"

#include "support/eal.hpp"
#include "testpmd/engine.hpp"

#include <gtest/gtest.h>

#include <memory>

namespace mrz::test {

//! What comes out where one packet does.
inline std::vector<Bytes> only(const Bytes& bytes)
{
    return std::vector<Bytes>(1, bytes);
}

class Engines : public testing::Test {
  protected:
    static constexpr unsigned buffers = 1023;
    static constexpr std::uint16_t buffer_size = RTE_PKTMBUF_HEADROOM + 1024;

    Engines()
    {
        static const Eal eal{{"--no-huge", "--no-shconf", "-m64"}};
        pool_.reset(rte_pktmbuf_pool_create("engines", buffers, 0, 0, buffer_size, SOCKET_ID_ANY));
        if (!pool_)
            throw std::runtime_error{"no pool"};
        stream_.rx_port = stream_.tx_port = Wire::port;
        stream_.rx_queue = stream_.tx_queue = Wire::queue;
        stream_.burst = 32;
        stream_.tx_address = {{0x02, 0xcc, 0, 0, 0, 3}};
        stream_.peer = {{0x02, 0xdd, 0, 0, 0, 4}};
        stream_.pool = pool_.get();
    }
    void TearDown() override
    {
        wire_.reset();
        EXPECT_EQ(rte_mempool_avail_count(pool_.get()), buffers) << "a packet was not freed";
    }

    rte_mbuf* packet(const Bytes& bytes, const std::vector<std::size_t>& cuts = {}, std::uint8_t filler = 0xa5)
    {
        return make_packet(*pool_, bytes, cuts, filler);
    }

    //! Runs until nothing is left to receive.
    void run(const testpmd::Engine& engine, bool lookup = false)
    {
        stop_ = false;
        (lookup ? engine.loop_with_lookup : engine.loop)({&stream_, 1}, stop_);
    }
    //! What comes out for one packet; none if it was dropped.
    std::vector<Bytes> through(const testpmd::Engine& engine, const Bytes& bytes,
                               const std::vector<std::size_t>& cuts = {})
    {
        wire_->to_receive.push_back(packet(bytes, cuts));
        run(engine);
        return take_sent();
    }
    std::vector<Bytes> take_sent()
    {
        std::vector<Bytes> out;
        for (const rte_mbuf* each : wire_->sent) {
            rte_mbuf_sanity_check(each, 1);
            out.push_back(bytes_of(each));
        }
        rte_pktmbuf_free_bulk(wire_->sent.data(), static_cast<unsigned>(wire_->sent.size()));
        wire_->sent.clear();
        return out;
    }

    std::unique_ptr<rte_mempool, decltype(&rte_mempool_free)> pool_{nullptr, rte_mempool_free};
    std::atomic<bool> stop_ = false;
    std::unique_ptr<Wire> wire_ = std::make_unique<Wire>(stop_);
    testpmd::Stream stream_;
    const Bytes own_{0x02, 0xcc, 0, 0, 0, 3};
    const Bytes peer_{0x02, 0xdd, 0, 0, 0, 4};
};

} // namespace mrz::test
