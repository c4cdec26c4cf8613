// SPDX-License-Identifier: BSD-3-Clause
#include "fixture.hpp"
#include "testpmd/engines/all.hpp"

#include <random>

using namespace mrz;
using namespace mrz::test;

namespace {

//! Packets that are right but for a few bytes, or cut off, or all chance; in any segments.
class Hostile {
  public:
    struct Packet {
        Bytes bytes;
        std::vector<std::size_t> cuts;
    };

    explicit Hostile(unsigned seed) : random_{seed} {}

    Packet next()
    {
        Packet packet{.bytes = below(8) == 0 ? noise(below(200)) : models_[below(models_.size())], .cuts = {}};
        Bytes& bytes = packet.bytes;
        for (std::size_t i = below(5); i > 0 && !bytes.empty(); --i)
            bytes[below(std::min<std::size_t>(bytes.size(), 90))] = byte();
        if (below(2) == 0)
            bytes.resize(below(bytes.size() + 1));
        for (std::size_t i = below(4); i > 0 && below(2) == 0; --i)
            packet.cuts.push_back(below(100));
        return packet;
    }
    std::size_t below(std::size_t limit) { return random_() % limit; }

  private:
    //! Mostly what lengths and types are made of.
    std::uint8_t byte()
    {
        static constexpr std::uint8_t usual[] = {0, 1, 4, 6, 8, 17, 43, 44, 60, 0x45, 0x4f, 0x60, 0x81, 132, 0xff};
        return below(2) == 0 ? usual[below(std::size(usual))] : static_cast<std::uint8_t>(random_());
    }
    Bytes noise(std::size_t size)
    {
        Bytes bytes(size);
        for (std::uint8_t& each : bytes)
            each = static_cast<std::uint8_t>(random_());
        return bytes;
    }

    std::mt19937 random_;
    const std::vector<Bytes> models_ = {
        ethernet(0x0806) + arp(1, mac_a, ip_a, Bytes(6, 0), ip_b),
        ethernet(0x0800) + ipv4({.protocol = 1}, echo_request(counted(40))),
        ethernet(0x0800) + ipv4({.protocol = 1, .to = {224, 0, 0, 1}}, echo_request({})),
        ethernet(0x0800) + ipv4({}, udp(counted(33))),
        ethernet(0x0800) + ipv4({.protocol = 6, .options = Bytes(40, 1)}, tcp(counted(100))),
        ethernet(0x8100) + vlan_tag(1, 0x88a8) + vlan_tag(2, 0x0800) + ipv4({.protocol = 132}, sctp(counted(64))),
        ethernet(0x86dd) + ipv6(17, udp(counted(21))),
        ethernet(0x8100) + vlan_tag(1, 0x86dd) + ipv6(0, words({0x2b00, 0, 0, 0, 0x0600, 0, 0, 0}) + tcp(counted(9))),
        ethernet(0x86dd) + ipv6(44, words({0x3c00, 0, 0, 1, 0x8401, 0, 0, 0, 0, 0, 0, 0}) + sctp(counted(16))),
    };
};

class HostilePackets : public Engines, public testing::WithParamInterface<const testpmd::Engine*> {};

TEST_P(HostilePackets, HaveNothingBeyondThemReadOrWritten)
{
    const testpmd::Engine& engine = *GetParam();
    Hostile hostile{5};
    std::size_t forwarded = 0;
    for (int round = 0; round < 800; ++round) {
        std::vector<Hostile::Packet> packets;
        for (int i = 0; i < 40; ++i)
            packets.push_back(hostile.next());
        stream_.tx_offloads = round % 4 == 0 ? RTE_ETH_TX_OFFLOAD_IPV4_CKSUM | RTE_ETH_TX_OFFLOAD_TCP_CKSUM : 0;
        // Whatever lies around a packet's bytes: what comes out is the same.
        std::vector<Bytes> outs[2];
        for (const std::uint8_t filler : {std::uint8_t{0x00}, std::uint8_t{0x45}}) {
            for (const auto& [bytes, cuts] : packets)
                wire_->to_receive.push_back(packet(bytes, cuts, filler));
            run(engine);
            for (const rte_mbuf* each : wire_->sent)
                ASSERT_EQ(spoilt(each, filler), 0U) << round;
            outs[filler == 0 ? 0 : 1] = take_sent();
        }
        ASSERT_EQ(outs[0], outs[1]) << round;
        forwarded += outs[0].size();
        if (engine.sends && &engine != &testpmd::icmpecho) {
            ASSERT_EQ(outs[0].size(), packets.size());
            for (std::size_t i = 0; i < packets.size(); ++i)
                ASSERT_EQ(outs[0][i].size(), packets[i].bytes.size());
        }
    }
    EXPECT_EQ(forwarded > 0, engine.sends);
    EXPECT_EQ(stream_.rx_packets.value(), 2U * 800 * 40);
}

INSTANTIATE_TEST_SUITE_P(Through, HostilePackets,
                         testing::Values(&testpmd::mac, &testpmd::macswap, &testpmd::rxonly, &testpmd::icmpecho,
                                         &testpmd::csum, &testpmd::five_tuple_swap),
                         [](const auto& each) { return std::string{each.param->name}; });

} // namespace
