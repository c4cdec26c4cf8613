// SPDX-License-Identifier: BSD-3-Clause
#include "fixture.hpp"
#include "testpmd/engines/all.hpp"

using namespace mrz;
using namespace mrz::test;

namespace {

using Icmpecho = Engines;

const Bytes everybody{0xff, 0xff, 0xff, 0xff, 0xff, 0xff};

Bytes echo_reply(const Bytes& payload)
{
    Bytes bytes = echo_request(payload);
    bytes[0] = 0;
    write16(bytes, 2, 0);
    write16(bytes, 2, static_cast<std::uint16_t>(~ones_sum(bytes)));
    return bytes;
}

TEST_F(Icmpecho, AnswersArpWithTheSendingPortsAddress)
{
    const Bytes tag = words({0x8100}) + vlan_tag(5, 0x0806);
    const Bytes padding(18, 0);
    for (const Bytes& type : {words({0x0806}), tag})
        EXPECT_EQ(
            through(testpmd::icmpecho, everybody + mac_a + type + arp(1, mac_a, ip_a, Bytes(6, 0), ip_b) + padding),
            only(mac_a + own_ + type + arp(2, own_, ip_b, mac_a, ip_a) + padding));
}

TEST_F(Icmpecho, AnswersPings)
{
    for (const std::size_t size : {0, 1, 56, 900}) {
        for (const Bytes& options : {Bytes{}, Bytes{1, 1, 1, 0}}) {
            const Bytes payload = counted(size);
            const Bytes in = ipv4({.protocol = 1, .options = options}, echo_request(payload));
            const Bytes out =
                ipv4({.protocol = 1, .options = options, .from = ip_b, .to = ip_a}, echo_reply(payload));
            EXPECT_EQ(through(testpmd::icmpecho, ethernet(0x0800) + in), only(ethernet(0x0800, mac_a, mac_b) + out));
        }
    }
}

TEST_F(Icmpecho, AnswersPingsWhoseDataLieInOtherSegments)
{
    const Bytes in = ethernet(0x0800) + ipv4({.protocol = 1}, echo_request(counted(200)));
    const Bytes out =
        ethernet(0x0800, mac_a, mac_b) + ipv4({.protocol = 1, .from = ip_b, .to = ip_a}, echo_reply(counted(200)));
    EXPECT_EQ(through(testpmd::icmpecho, in, {14 + 20 + 8, 33}), only(out));
}

TEST_F(Icmpecho, SumsEveryKindOfRequestRight)
{
    for (unsigned word = 0; word <= 0xffff; word += 0x101) {
        const auto out = through(
            testpmd::icmpecho, ethernet(0x0800) + ipv4({.protocol = 1}, echo_request(words({word, 0xf7ff - word}))));
        ASSERT_EQ(out.size(), 1U);
        EXPECT_EQ(ones_sum(std::span{out[0]}.subspan(34)), 0xffff) << word;
    }
}

TEST_F(Icmpecho, AnswersAGroupsPingAsANeighbourOfTheAsker)
{
    struct Case {
        Bytes group, asker, answerer;
    };
    for (const auto& [group, asker, answerer] :
         {Case{{224, 0, 0, 1}, {10, 1, 2, 3}, {10, 1, 2, 1}}, Case{{239, 1, 1, 1}, {10, 1, 2, 1}, {10, 1, 2, 2}},
          Case{{255, 255, 255, 255}, {10, 1, 2, 4}, {10, 1, 2, 5}}}) {
        const Bytes in = ipv4({.protocol = 1, .from = asker, .to = group}, echo_request(counted(30)));
        const Bytes out = ipv4({.protocol = 1, .from = answerer, .to = asker}, echo_reply(counted(30)));
        EXPECT_EQ(through(testpmd::icmpecho, ethernet(0x0800, {1, 0, 0x5e, 0, 0, 1}) + in),
                  only(ethernet(0x0800, mac_a, own_) + out));
    }
}

TEST_F(Icmpecho, DropsWhatIsNoRequest)
{
    const Bytes request = echo_request(counted(20));
    const auto with = [](Bytes bytes, std::size_t at, std::uint8_t value) {
        bytes[at] = value;
        return bytes;
    };
    const Bytes asked = arp(1, mac_a, ip_a, Bytes(6, 0), ip_b);
    const Bytes whole = ethernet(0x0800) + ipv4({.protocol = 1}, request);
    const Bytes others[] = {
        {},
        counted(13),
        ethernet(0x0806) + arp(2, mac_a, ip_a, mac_b, ip_b),
        ethernet(0x0806) + with(asked, 1, 6),
        ethernet(0x0806) + with(asked, 3, 6),
        ethernet(0x0806) + with(asked, 4, 8),
        ethernet(0x0806) + with(asked, 5, 16),
        ethernet(0x0806) + Bytes(asked.begin(), asked.end() - 1),
        ethernet(0x0800) + ipv4({.protocol = 17}, udp(counted(20))),
        ethernet(0x0800) + ipv4({.protocol = 1}, with(request, 0, 0)),
        ethernet(0x0800) + ipv4({.protocol = 1}, with(request, 1, 1)),
        ethernet(0x0800) + ipv4({.protocol = 1, .fragment = 0x2000}, request),
        ethernet(0x0800) + ipv4({.protocol = 1, .fragment = 2}, request),
        ethernet(0x0800) + ipv4({.protocol = 1}, {request.begin(), request.begin() + 7}),
        ethernet(0x0800) + ipv4({.protocol = 1}, {request.begin(), request.begin() + 7}) + Bytes(30, 0), // padded
        ethernet(0x0800) + with(ipv4({.protocol = 1}, request), 0, 0x4f),
        ethernet(0x86dd) + ipv6(1, request),
        {whole.begin(), whole.end() - 1},
    };
    for (const Bytes& bytes : others)
        wire_->to_receive.push_back(packet(bytes));
    wire_->to_receive.push_back(packet(whole, {14 + 20 + 7}));
    run(testpmd::icmpecho);
    EXPECT_EQ(take_sent(), std::vector<Bytes>{});
    EXPECT_EQ(stream_.rx_packets.value(), std::size(others) + 1);
    EXPECT_EQ(stream_.dropped.value(), 0U) << "that is for what the queue does not take";
}

TEST_F(Icmpecho, KeepsTheOrderOfAnswersAmongOthers)
{
    std::vector<Bytes> expected;
    for (std::uint8_t i = 0; i < 100; ++i) {
        if (i % 3 == 0) {
            wire_->to_receive.push_back(packet(ethernet(0x0800) + ipv4({.protocol = 1}, echo_request({i, i}))));
            expected.push_back(ethernet(0x0800, mac_a, mac_b) +
                               ipv4({.protocol = 1, .from = ip_b, .to = ip_a}, echo_reply({i, i})));
        } else {
            wire_->to_receive.push_back(packet(counted(i), {10}));
        }
    }
    run(testpmd::icmpecho);
    EXPECT_EQ(take_sent(), expected);
}

} // namespace
