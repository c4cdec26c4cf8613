// SPDX-License-Identifier: BSD-3-Clause
#include "testpmd/free_packets.hpp"
#include "fixture.hpp"
#include "testpmd/external_buffers.hpp"

#include <mrzone/base.hpp>

#include <rte_memzone.h>

#include <array>

using namespace mrz;
using namespace mrz::test;
using testpmd::free_packets;

namespace {

// Every test's end compares the pool's buffers.
using FreePackets = Engines;

using Pool = std::unique_ptr<rte_mempool, decltype(&rte_mempool_free)>;

TEST_F(FreePackets, TakesNone)
{
    free_packets(nullptr, 0);
}

TEST_F(FreePackets, GivesBackWholeChainsAmongPacketsOfOneSegment)
{
    std::array<rte_mbuf*, 4> packets{packet(counted(60)), packet(counted(60), {20, 20}), packet(counted(60)),
                                     packet(counted(60), {10})};
    EXPECT_EQ(rte_mempool_avail_count(pool_.get()), buffers - 7);
    free_packets(packets.data(), packets.size());
    EXPECT_EQ(rte_mempool_avail_count(pool_.get()), buffers);
    // A chain's parts come out of the pool alone.
    std::array<rte_mbuf*, buffers> all{};
    ASSERT_EQ(rte_pktmbuf_alloc_bulk(pool_.get(), all.data(), buffers), 0);
    for (const rte_mbuf* each : all)
        rte_mbuf_sanity_check(each, 1);
    free_packets(all.data(), all.size());
}

TEST_F(FreePackets, GivesEachPoolItsOwn)
{
    constexpr unsigned few = 7;
    const Pool other{rte_pktmbuf_pool_create("other", few, 0, 0, buffer_size, SOCKET_ID_ANY), rte_mempool_free};
    ASSERT_NE(other, nullptr);
    std::array<rte_mbuf*, 4> packets{rte_pktmbuf_alloc(pool_.get()), rte_pktmbuf_alloc(other.get()),
                                     rte_pktmbuf_alloc(pool_.get()), rte_pktmbuf_alloc(other.get())};
    free_packets(packets.data(), packets.size());
    EXPECT_EQ(rte_mempool_avail_count(pool_.get()), buffers);
    EXPECT_EQ(rte_mempool_avail_count(other.get()), few);
}

TEST_F(FreePackets, LeavesWhatSomebodyElseHolds)
{
    rte_mbuf* const held = packet(counted(60));
    rte_mbuf_refcnt_update(held, 1);
    std::array<rte_mbuf*, 2> packets{held, packet(counted(60))};
    free_packets(packets.data(), packets.size());
    EXPECT_EQ(rte_mempool_avail_count(pool_.get()), buffers - 1);
    EXPECT_EQ(rte_mbuf_refcnt_read(held), 1);
    rte_pktmbuf_free(held);
}

TEST_F(FreePackets, GivesBackAClonesOriginalWhenItIsTheLast)
{
    rte_mbuf* const original = packet(counted(60));
    rte_mbuf* const clone = rte_pktmbuf_clone(original, pool_.get());
    ASSERT_NE(clone, nullptr);
    std::array<rte_mbuf*, 2> packets{original, clone};
    free_packets(packets.data(), packets.size());
    EXPECT_EQ(rte_mempool_avail_count(pool_.get()), buffers);
}

TEST_F(FreePackets, PinnedExternalBuffersStayWithTheirHeaders)
{
    constexpr unsigned few = 7;
    const std::unique_ptr<const rte_memzone, decltype(&rte_memzone_free)> data{
        rte_memzone_reserve("pinned_data", testpmd::external_bytes(few, buffer_size), SOCKET_ID_ANY, 0),
        rte_memzone_free};
    ASSERT_NE(data, nullptr);
    const Pool pinned{testpmd::make_external_pool("pinned", few, 0, buffer_size, SOCKET_ID_ANY, *data),
                      rte_mempool_free};
    ASSERT_NE(pinned, nullptr);
    for (int round = 0; round < 2; ++round) {
        std::array<rte_mbuf*, few> packets{};
        ASSERT_EQ(rte_pktmbuf_alloc_bulk(pinned.get(), packets.data(), few), 0);
        for (const rte_mbuf* each : packets) {
            EXPECT_NE(each->ol_flags & RTE_MBUF_F_EXTERNAL, 0U);
            EXPECT_GE(each->buf_addr, data->addr);
            EXPECT_EQ(rte_mbuf_ext_refcnt_read(each->shinfo), 1);
        }
        free_packets(packets.data(), packets.size());
        EXPECT_EQ(rte_mempool_avail_count(pinned.get()), few);
    }
}

} // namespace
