// SPDX-License-Identifier: BSD-3-Clause
#include "fixture.hpp"
#include "testpmd/engines/all.hpp"

using namespace mrz;
using namespace mrz::test;
using testpmd::find_engine;

namespace {

using EngineLoop = Engines;

TEST(EngineTable, HasTestpmdsNamesInOrder)
{
    std::vector<std::string_view> names;
    for (const testpmd::Engine* engine : testpmd::engines()) {
        names.push_back(engine->name);
        EXPECT_EQ(find_engine(engine->name), engine);
        EXPECT_NE(engine->loop, nullptr) << engine->name;
        EXPECT_NE(engine->loop_with_lookup, nullptr) << engine->name;
        EXPECT_FALSE(engine->what.empty()) << engine->name;
    }
    EXPECT_EQ(names, (std::vector<std::string_view>{"io", "mac", "macswap", "rxonly", "txonly", "flowgen", "icmpecho",
                                                    "csum", "5tswap"}));
    EXPECT_EQ(find_engine("five_tuple_swap"), nullptr);
}

TEST(EngineTable, KnowsWhoReceivesSendsAndAnswers)
{
    EXPECT_FALSE(testpmd::txonly.receives);
    EXPECT_FALSE(testpmd::rxonly.sends);
    EXPECT_TRUE(testpmd::rxonly.receives);
    EXPECT_TRUE(testpmd::flowgen.receives && testpmd::flowgen.sends);
    for (const testpmd::Engine* engine : testpmd::engines())
        EXPECT_EQ(engine->answers, engine == &testpmd::icmpecho) << engine->name;
}

TEST_F(EngineLoop, IoSendsPacketsOnUntouched)
{
    const Bytes bytes = ethernet(0x1234) + counted(300);
    EXPECT_EQ(through(testpmd::io, bytes, {100, 50}), only(bytes));
    EXPECT_EQ(stream_.rx_packets.value(), 1U);
    EXPECT_EQ(stream_.tx_packets.value(), 1U);
}

TEST_F(EngineLoop, CountsAndFreesWhatTheTransmitQueueRefuses)
{
    for (int i = 0; i < 100; ++i)
        wire_->to_receive.push_back(packet(counted(60), {20}));
    wire_->room = 70;
    run(testpmd::mac);
    EXPECT_EQ(stream_.rx_packets.value(), 100U);
    EXPECT_EQ(stream_.tx_packets.value(), 70U);
    EXPECT_EQ(stream_.dropped.value(), 30U);
    EXPECT_EQ(wire_->sent.size(), 70U);
}

TEST_F(EngineLoop, RxonlyCountsAndFrees)
{
    for (int i = 0; i < 100; ++i)
        wire_->to_receive.push_back(packet(counted(60), {20, 20}));
    run(testpmd::rxonly);
    EXPECT_EQ(stream_.rx_packets.value(), 100U);
    EXPECT_EQ(stream_.tx_packets.value(), 0U);
    EXPECT_EQ(rte_mempool_avail_count(pool_.get()), buffers);
}

TEST_F(EngineLoop, VisitsEachStreamOnceIfItIsStoppedBefore)
{
    stream_.shape.lengths[0] = 64;
    stop_ = true;
    testpmd::txonly.loop({&stream_, 1}, stop_);
    EXPECT_EQ(wire_->sent.size(), stream_.burst);
}

TEST_F(EngineLoop, LooksUpEverySegment)
{
    rte_mbuf* known = packet(counted(100), {60});
    rte_mbuf* half_known = packet(counted(100), {60});
    const Domain domain = Domain::open("soft");
    const auto keyed = [&domain](const rte_mbuf* segment) {
        return domain.register_memory({static_cast<std::byte*>(segment->buf_addr), segment->buf_len},
                                      Access::local_write);
    };
    const Region regions[] = {keyed(known), keyed(known->next), keyed(half_known)};
    stream_.reader.emplace(domain).offline();
    wire_->to_receive = {known, half_known};
    run(testpmd::io, true);
    EXPECT_EQ(stream_.keys_found.value(), 3U);
    EXPECT_EQ(stream_.keys_missing.value(), 1U);
}

TEST_F(EngineLoop, LooksUpWhatFlowgenReceivesAndMakes)
{
    stream_.reader.emplace(Domain::open("soft")).offline();
    stream_.burst = 4;
    wire_->to_receive = {packet(counted(60)), packet(counted(60))};
    wire_->bursts_wanted = 1;
    run(testpmd::flowgen, true);
    EXPECT_EQ(stream_.keys_missing.value(), 6U);
}

} // namespace
