// SPDX-License-Identifier: BSD-3-Clause
#include "fixture.hpp"
#include "testpmd/engines/all.hpp"

using namespace mrz;
using namespace mrz::test;

namespace {

const Bytes rest = words({0x0800}) + counted(80);

TEST_F(Engines, MacAddressesThePeerFromTheSendingPort)
{
    EXPECT_EQ(through(testpmd::mac, mac_b + mac_a + rest), only(peer_ + own_ + rest));
}

TEST_F(Engines, MacswapSwapsTheAddresses)
{
    EXPECT_EQ(through(testpmd::macswap, mac_b + mac_a + rest), only(mac_a + mac_b + rest));
}

TEST_F(Engines, LeaveAddressesThatAreCutOffOrCutInTwo)
{
    for (const testpmd::Engine* engine :
         {&testpmd::mac, &testpmd::macswap, &testpmd::five_tuple_swap, &testpmd::csum}) {
        for (std::size_t size = 0; size < 12; ++size) {
            EXPECT_EQ(through(*engine, counted(size)), only(counted(size))) << engine->name << ' ' << size;
            EXPECT_EQ(through(*engine, counted(60), {size}), only(counted(60))) << engine->name << ' ' << size;
        }
        EXPECT_NE(through(*engine, counted(12)), only(counted(12))) << engine->name;
    }
}

//! Everything of an IPv4 packet with sender and receiver swapped.
Bytes swapped(const Bytes& l2_rest, const Bytes& l3_begin, const Bytes& from, const Bytes& to, const Bytes& after)
{
    return mac_a + mac_b + l2_rest + l3_begin + to + from + after;
}

TEST_F(Engines, FiveTupleSwapSwapsAllThreeLayersOfIpv4)
{
    for (const std::uint8_t protocol : {std::uint8_t{6}, std::uint8_t{17}}) {
        for (const Bytes& options : {Bytes{}, Bytes{7, 7, 4, 0}}) {
            const Bytes l4 = protocol == 6 ? tcp(counted(20)) : udp(counted(20));
            const Bytes in = ipv4({.protocol = protocol, .options = options}, l4);
            Bytes l4_out = l4;
            write16(l4_out, 0, 2222);
            write16(l4_out, 2, 1111);
            EXPECT_EQ(through(testpmd::five_tuple_swap, ethernet(0x0800) + in),
                      only(swapped(words({0x0800}), {in.begin(), in.begin() + 12}, ip_a, ip_b, options + l4_out)));
        }
    }
}

TEST_F(Engines, FiveTupleSwapPassesVlanTagsAndIpv6ExtensionHeaders)
{
    const Bytes tags = words({0x88a8}) + vlan_tag(1, 0x8100) + vlan_tag(2, 0x8100) + vlan_tag(3, 0x86dd);
    const Bytes options = words({0x1100, 0, 0, 0}); // hop-by-hop, then UDP
    const Bytes in = ipv6(0, options + udp(counted(9)));
    Bytes l4 = udp(counted(9));
    write16(l4, 0, 2222);
    write16(l4, 2, 1111);
    EXPECT_EQ(through(testpmd::five_tuple_swap, mac_b + mac_a + tags + in),
              only(swapped(tags, {in.begin(), in.begin() + 8}, ip6_a, ip6_b, options + l4)));
}

TEST_F(Engines, FiveTupleSwapGoesAsFarAsThePacketMakesSense)
{
    const auto expect = [this](const Bytes& after_addresses, const Bytes& out,
                               const std::vector<std::size_t>& cuts = {}) {
        EXPECT_EQ(through(testpmd::five_tuple_swap, mac_b + mac_a + after_addresses, cuts),
                  only(mac_a + mac_b + out));
    };
    const Bytes type = words({0x0800});
    const Bytes good = ipv4({}, udp(counted(20)));
    const auto ip_swapped = [](Bytes ip) {
        std::swap_ranges(ip.begin() + 12, ip.begin() + 16, ip.begin() + 16);
        return ip;
    };
    // What is not IP, says that its header is shorter than can be, or longer than there is.
    expect(words({0x88cc}) + good, words({0x88cc}) + good);
    for (const unsigned version_and_length : {0x44U, 0x40U, 0x65U, 0x4fU}) {
        Bytes bad(good.begin(), good.begin() + 40);
        bad[0] = static_cast<std::uint8_t>(version_and_length);
        write16(bad, 2, 40);
        expect(type + bad, type + bad);
    }
    Bytes longer = good;
    write16(longer, 2, static_cast<unsigned>(good.size() + 1));
    expect(type + longer, type + longer);
    // Ports that are a later fragment's data, are cut off, lie in another segment, or are another protocol's.
    const Bytes later = ipv4({.fragment = 0x2001}, udp(counted(20)));
    expect(type + later, type + ip_swapped(later));
    const Bytes no_ports = ipv4({}, {1, 2, 3});
    expect(type + no_ports, type + ip_swapped(no_ports));
    const Bytes padding = counted(30);
    expect(type + no_ports + padding, type + ip_swapped(no_ports) + padding);
    expect(type + good, type + ip_swapped(good), {14 + 20 + 3});
    const Bytes sctp_packet = ipv4({.protocol = 132}, sctp(counted(20)));
    expect(type + sctp_packet, type + ip_swapped(sctp_packet));
}

} // namespace
