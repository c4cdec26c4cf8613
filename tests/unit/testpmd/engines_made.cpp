// SPDX-License-Identifier: BSD-3-Clause
#include "fixture.hpp"
#include "testpmd/engines/all.hpp"

#include <algorithm>

using namespace mrz;
using namespace mrz::test;

namespace {

using MadePackets = Engines;

testpmd::PacketShape shape_of(const std::vector<std::uint16_t>& lengths)
{
    testpmd::PacketShape shape;
    std::ranges::copy(lengths, shape.lengths.begin());
    shape.segments = static_cast<std::uint8_t>(lengths.size());
    return shape;
}

Bytes made_headers(const Bytes& to, const Bytes& from, const Bytes& from_ip, const Bytes& to_ip, unsigned from_port,
                   unsigned to_port, std::size_t length)
{
    Bytes ip = words({0x4500, static_cast<unsigned>(length - 14), 0, 0, 0x4011, 0}) + from_ip + to_ip;
    write16(ip, 10, static_cast<std::uint16_t>(~ones_sum(ip)));
    return ethernet(0x0800, to, from) + ip + words({from_port, to_port, static_cast<unsigned>(length - 34), 0});
}

std::vector<Bytes> heads(const std::vector<Bytes>& packets)
{
    std::vector<Bytes> all;
    for (const Bytes& packet : packets)
        all.emplace_back(packet.begin(), packet.begin() + 42);
    return all;
}

TEST_F(MadePackets, TxonlyMakesTestpmdsPacketInEveryShape)
{
    const std::vector<std::vector<std::uint16_t>> shapes = {
        {64},     {42},        {1024},
        {64, 64}, {1, 1, 40},  {14, 20, 8, 1},
        {41, 1},  {10, 0, 60}, std::vector<std::uint16_t>(255, 4)};
    for (const auto& lengths : shapes) {
        stream_.shape = shape_of(lengths);
        stream_.burst = 3;
        wire_->bursts_wanted = 1;
        run(testpmd::txonly);
        ASSERT_EQ(wire_->sent.size(), 3U);
        for (const rte_mbuf* each : wire_->sent) {
            std::vector<std::uint16_t> got;
            for (const rte_mbuf* segment = each; segment != nullptr; segment = segment->next)
                got.push_back(segment->data_len);
            EXPECT_EQ(got, lengths);
            EXPECT_EQ(each->pkt_len, stream_.shape.length());
            EXPECT_EQ(each->nb_segs, lengths.size());
            EXPECT_EQ(each->ol_flags, 0U);
        }
        const Bytes header =
            made_headers(peer_, own_, {198, 18, 0, 1}, {198, 18, 0, 2}, 9, 9, stream_.shape.length());
        EXPECT_EQ(heads(take_sent()), (std::vector<Bytes>{header, header, header}));
    }
}

TEST_F(MadePackets, BuffersComeBackFitForAnyShape)
{
    for (unsigned i = 0; i < 300; ++i) {
        wire_->to_receive.push_back(packet(counted(500), {100, 100}));
        wire_->to_receive.back()->ol_flags = RTE_MBUF_F_RX_VLAN;
        rte_pktmbuf_adj(wire_->to_receive.back(), 50);
    }
    run(testpmd::rxonly);
    for (int round = 0; round < 60; ++round) {
        stream_.shape =
            shape_of(round % 2 == 0 ? std::vector<std::uint16_t>{30, 30, 4} : std::vector<std::uint16_t>{64});
        wire_->bursts_wanted = 1;
        run(testpmd::txonly);
        for (const rte_mbuf* each : wire_->sent) {
            EXPECT_EQ(each->data_off, RTE_PKTMBUF_HEADROOM);
            EXPECT_EQ(each->ol_flags, 0U);
        }
        for (const Bytes& bytes : take_sent()) // where mbufs are checked, too
            EXPECT_EQ(bytes.size(), 64U);
    }
}

TEST_F(MadePackets, NoneIsMadeOfAShapeThatCannotBe)
{
    const std::vector<std::vector<std::uint16_t>> shapes = {{41}, {20, 21}, {1029}, {64, 1029}, {}};
    for (const auto& lengths : shapes) {
        stream_.shape = shape_of(lengths);
        for (const testpmd::Engine* engine : {&testpmd::txonly, &testpmd::flowgen}) {
            stop_ = true;
            engine->loop({&stream_, 1}, stop_);
            EXPECT_TRUE(wire_->sent.empty()) << engine->name;
        }
    }
    stream_.shape = shape_of({64});
    stream_.pool = nullptr;
    stop_ = true;
    testpmd::txonly.loop({&stream_, 1}, stop_);
    EXPECT_TRUE(wire_->sent.empty());
}

TEST_F(MadePackets, AsManyAsThePoolHas)
{
    stream_.burst = 32;
    for (const auto& [lengths, expected] : {std::pair{shape_of({64}), 10U}, {shape_of({64, 64, 64}), 3U}}) {
        std::vector<rte_mbuf*> others(buffers - 10);
        ASSERT_EQ(rte_pktmbuf_alloc_bulk(pool_.get(), others.data(), buffers - 10), 0);
        stream_.shape = lengths;
        stop_ = true;
        testpmd::txonly.loop({&stream_, 1}, stop_);
        EXPECT_EQ(wire_->sent.size(), expected);
        take_sent();
        rte_pktmbuf_free_bulk(others.data(), buffers - 10);
    }
}

TEST_F(MadePackets, FlowgenGoesRoundItsFlows)
{
    constexpr unsigned flows = 1024;
    stream_.shape = shape_of({64}); // with the frame check sequence
    stream_.burst = 9;
    wire_->room = 0;
    wire_->keep_bytes = true;
    wire_->bursts_wanted = flows / 9 + 3;
    run(testpmd::flowgen);
    std::vector<Bytes> expected;
    for (unsigned i = 0; i < (flows / 9 + 3) * 9; ++i) {
        const unsigned flow = i % flows;
        const Bytes to{10, 253, static_cast<std::uint8_t>(flow >> 8), static_cast<std::uint8_t>(flow)};
        expected.push_back(made_headers({0, 1, 2, 3, 4, 1}, {0, 1, 2, 3, 4, 0}, {10, 254, 0, 0}, to, 1000, 1001, 60));
    }
    EXPECT_EQ(heads(wire_->offered), expected);
    EXPECT_EQ(wire_->offered[0].size(), 60U);
}

TEST_F(MadePackets, FlowgenCountsAndFreesWhatItReceives)
{
    for (int i = 0; i < 50; ++i)
        wire_->to_receive.push_back(packet(counted(60), {20}));
    wire_->bursts_wanted = 3;
    run(testpmd::flowgen);
    EXPECT_EQ(stream_.rx_packets.value(), 50U);
    EXPECT_EQ(stream_.tx_packets.value(), 96U);
    EXPECT_EQ(rte_mempool_avail_count(pool_.get()), buffers - 96);
}

TEST_F(MadePackets, FlowgenTakesTheCheckSequenceOffTheEnd)
{
    const std::vector<std::pair<std::vector<std::uint16_t>, std::vector<std::uint16_t>>> cases = {
        {{42}, {42}}, {{44}, {42}}, {{64, 64}, {64, 60}}, {{64, 4}, {64}}, {{64, 2, 1}, {63}}};
    for (const auto& [asked, expected] : cases) {
        stream_.shape = shape_of(asked);
        stream_.burst = 1;
        wire_->bursts_wanted = 1;
        run(testpmd::flowgen);
        ASSERT_EQ(wire_->sent.size(), 1U);
        std::vector<std::uint16_t> got;
        for (const rte_mbuf* segment = wire_->sent[0]; segment != nullptr; segment = segment->next)
            got.push_back(segment->data_len);
        EXPECT_EQ(got, expected);
        take_sent();
    }
}

} // namespace
