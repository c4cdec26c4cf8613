// SPDX-License-Identifier: BSD-3-Clause
#include "fixture.hpp"
#include "testpmd/engines/all.hpp"

#include <rte_ethdev.h>

#include <random>

using namespace mrz;
using namespace mrz::test;

namespace {

//! Of packets that were made by the functions of packets.hpp.
std::uint16_t sum_with_pseudo_header(const Bytes& addresses, std::uint8_t protocol, const Bytes& l4)
{
    return ones_sum(addresses + words({0, static_cast<unsigned>(l4.size()), 0, protocol}) + l4);
}

class Csum : public Engines {
  protected:
    //! What comes out behind the MAC addresses, which it checks.
    Bytes after_addresses(const Bytes& bytes, const std::vector<std::size_t>& cuts = {})
    {
        const auto out = through(testpmd::csum, mac_b + mac_a + bytes, cuts);
        if (out.size() != 1 || Bytes(out[0].begin(), out[0].begin() + 12) != peer_ + own_) {
            ADD_FAILURE() << "not addressed as by mac";
            return {};
        }
        return {out[0].begin() + 12, out[0].end()};
    }
    void expect_unchanged(const Bytes& bytes, const std::vector<std::size_t>& cuts = {})
    {
        EXPECT_EQ(after_addresses(bytes, cuts), bytes);
    }
};

const Bytes type4 = words({0x0800});
const Bytes type6 = words({0x86dd});

TEST(PlainSums, AreWhatTheirStandardsSay)
{
    EXPECT_EQ(ones_sum(words({0x0001, 0xf203, 0xf4f5, 0xf6f7})), 0xddf2); // RFC 1071, section 3
    const Bytes digits{'1', '2', '3', '4', '5', '6', '7', '8', '9'};
    EXPECT_EQ(plain_crc32c(digits), 0xe3069283);
}

//! A packet whose sums are wrong, and what they are to be.
struct Sample {
    Bytes wrong;
    Bytes right;
    std::size_t headers; //!< Bytes.
};

class Samples {
  public:
    explicit Samples(unsigned seed) : random_{seed} {}

    Sample next()
    {
        Bytes payload(below(700));
        for (std::uint8_t& byte : payload)
            byte = static_cast<std::uint8_t>(random_());
        const std::uint8_t protocol = std::array<std::uint8_t, 3>{6, 17, 132}[below(3)];
        Bytes l4 = protocol == 6 ? tcp(payload) : protocol == 17 ? udp(payload) : sctp(payload);
        const std::size_t header = l4.size() - payload.size();
        // Every value of a sum, 0 too, turns up where the payload begins with a suitable word.
        Bytes l3;
        Bytes addresses;
        const bool version_6 = below(2) == 1;
        if (version_6) {
            const std::size_t count = below(3);
            Bytes chain;
            std::uint8_t next = protocol;
            for (std::size_t i = 0; i < count; ++i) {
                Bytes extension(8 * (1 + below(3)), 0);
                extension[0] = next;
                extension[1] = static_cast<std::uint8_t>(extension.size() / 8 - 1);
                chain = extension + chain;
                next = std::array<std::uint8_t, 3>{0, 60, 43}[below(3)];
            }
            addresses = ip6_a + ip6_b;
            l3 = ipv6(next, chain);
            write16(l3, 4, static_cast<unsigned>(chain.size() + l4.size()));
        } else {
            addresses = ip_a + ip_b;
            l3 = ipv4({.protocol = protocol, .options = Bytes(4 * below(11), 1)}, l4);
            l3.resize(l3.size() - l4.size());
        }
        Bytes tags;
        unsigned type = version_6 ? 0x86dd : 0x0800;
        for (std::size_t i = below(4); i > 0; --i, type = i % 2 == 0 ? 0x8100 : 0x88a8)
            tags = vlan_tag(static_cast<unsigned>(i), type) + tags;
        const Bytes padding(below(2) * 11, 0xee);

        Sample sample;
        sample.headers = 12 + 2 + tags.size() + l3.size() + header;
        Bytes right_l4 = l4;
        if (protocol == 132) {
            std::fill_n(right_l4.begin() + 8, 4, std::uint8_t{0});
            const std::uint32_t crc = plain_crc32c(right_l4);
            for (std::size_t i = 0; i < 4; ++i)
                right_l4[8 + i] = static_cast<std::uint8_t>(crc >> (8 * i));
        } else {
            const std::size_t at = protocol == 6 ? 16 : 6;
            write16(right_l4, at, 0);
            const auto sum = static_cast<std::uint16_t>(~sum_with_pseudo_header(addresses, protocol, right_l4));
            write16(right_l4, at, sum == 0 && protocol == 17 ? 0xffff : sum);
        }
        sample.right = words({type}) + tags + l3 + right_l4 + padding;
        if (!version_6)
            write16(l3, 10, static_cast<unsigned>(random_()));
        sample.wrong = words({type}) + tags + l3 + l4 + padding;
        return sample;
    }
    std::size_t below(std::size_t limit) { return random_() % limit; }

  private:
    std::mt19937 random_;
};

TEST_F(Csum, MendsEverySumOfEveryKindOfPacket)
{
    Samples samples{20};
    for (int i = 0; i < 3000; ++i) {
        const Sample sample = samples.next();
        std::vector<std::size_t> cuts;
        if (samples.below(2) == 1)
            cuts = {sample.headers + samples.below(50), samples.below(50), samples.below(3)};
        EXPECT_EQ(after_addresses(sample.wrong, cuts), sample.right) << i;
        if (HasFailure())
            return;
    }
}

TEST_F(Csum, LeavesAUdpSumOfNone)
{
    expect_unchanged(type4 + ipv4({}, udp(counted(20), 0)));
    expect_unchanged(type6 + ipv6(17, udp(counted(20), 0)));
}

TEST_F(Csum, SaysAUdpSumOfZeroAsAllOnes)
{
    Bytes l4 = udp(words({0}), 0);
    write16(l4, 8, static_cast<std::uint16_t>(~sum_with_pseudo_header(ip_a + ip_b, 17, l4)));
    write16(l4, 6, 0x1234);
    Bytes right = l4;
    write16(right, 6, 0xffff);
    EXPECT_EQ(after_addresses(type4 + ipv4({}, l4)), type4 + ipv4({}, right));
}

TEST_F(Csum, SumsADatagramThatDoesNotFillItsPacket)
{
    const Bytes l4 = udp(counted(20));
    Bytes right = l4;
    write16(right, 6, 0);
    write16(right, 6, static_cast<std::uint16_t>(~sum_with_pseudo_header(ip_a + ip_b, 17, right)));
    const Bytes more = counted(7);
    EXPECT_EQ(after_addresses(type4 + ipv4({}, l4 + more)), type4 + ipv4({}, right + more));
}

TEST_F(Csum, LeavesTheTransportOfFragments)
{
    for (const unsigned fragment : {0x2000U, 0x2003U, 3U}) {
        Bytes wrong = ipv4({.fragment = fragment}, udp(counted(20)));
        const Bytes right = wrong;
        write16(wrong, 10, 0xbad);
        EXPECT_EQ(after_addresses(type4 + wrong), type4 + right);
    }
    for (const unsigned fragment : {0x0001U, 0x0009U, 0x0008U})
        expect_unchanged(type6 + ipv6(44, words({0x1100, fragment, 0, 1}) + udp(counted(20))));
    // One that is whole after all is summed.
    const Bytes whole = type6 + ipv6(44, words({0x1100, 0, 0, 1}) + udp(counted(20)));
    EXPECT_NE(after_addresses(whole), whole);
}

TEST_F(Csum, LeavesTheTransportOfWhatIsStillToBeRouted)
{
    expect_unchanged(type6 + ipv6(43, words({0x1100, 0x0001, 0, 0}) + udp(counted(20))));
}

TEST_F(Csum, LeavesWhatLies)
{
    const auto with_word = [](Bytes bytes, std::size_t at, unsigned value) {
        write16(bytes, at, value);
        return bytes;
    };
    const Bytes good = ipv4({}, udp(counted(20)));
    for (const unsigned length : {0U, 19U, 49U, 0xffffU})
        expect_unchanged(type4 + with_word(good, 2, length));
    for (const unsigned first : {0x4000U, 0x4400U, 0x4f00U, 0x5500U, 0x6500U})
        expect_unchanged(type4 + with_word(ipv4({}, udp(counted(20))), 0, first));
    for (const unsigned length : {0U, 7U, 29U, 0xffffU})
        expect_unchanged(type4 + ipv4({}, with_word(udp(counted(20)), 4, length)));
    for (const unsigned offset : {0x0010U, 0x4010U, 0xf010U})
        expect_unchanged(type4 + ipv4({.protocol = 6}, with_word(tcp(counted(20)), 12, offset)));
    const Bytes padding(40, 0xee);
    expect_unchanged(type4 + ipv4({.protocol = 132}, Bytes(11, 1)) + padding);
    expect_unchanged(type4 + ipv4({.protocol = 6}, Bytes(19, 0x55)) + padding);
    for (const unsigned length : {29U, 0xffffU})
        expect_unchanged(type6 + with_word(ipv6(17, udp(counted(20))), 4, length));
    expect_unchanged(type6 + ipv6(0, words({0x11ff, 0, 0, 0}) + udp(counted(20)))); // longer than the packet
    expect_unchanged(type6 + with_word(ipv6(17, udp(counted(20))), 4, 0));          // no jumbogram either
}

TEST_F(Csum, LeavesHeadersThatLieInTwoSegments)
{
    const Bytes udp_packet = type4 + ipv4({}, udp(counted(20)));
    for (std::size_t cut = 12; cut < 14 + 20 + 8; ++cut)
        expect_unchanged(udp_packet, {cut});
    const Bytes tcp_packet = type6 + ipv6(6, tcp(counted(20)));
    for (std::size_t cut = 12; cut < 14 + 40 + 20; ++cut)
        expect_unchanged(tcp_packet, {cut});
}

TEST_F(Csum, CountsWhatTheReceiverFoundBad)
{
    for (const std::uint64_t flags :
         {RTE_MBUF_F_RX_IP_CKSUM_BAD, RTE_MBUF_F_RX_IP_CKSUM_GOOD, RTE_MBUF_F_RX_IP_CKSUM_NONE,
          RTE_MBUF_F_RX_L4_CKSUM_BAD, RTE_MBUF_F_RX_L4_CKSUM_BAD | RTE_MBUF_F_RX_IP_CKSUM_BAD,
          RTE_MBUF_F_RX_L4_CKSUM_NONE, RTE_MBUF_F_RX_L4_CKSUM_BAD | RTE_MBUF_F_RX_IP_CKSUM_NONE}) {
        wire_->to_receive.push_back(packet(ethernet(0x0800) + ipv4({}, udp({}))));
        wire_->to_receive.back()->ol_flags |= flags;
    }
    run(testpmd::csum);
    EXPECT_EQ(stream_.bad_ip_sum.value(), 2U);
    EXPECT_EQ(stream_.bad_l4_sum.value(), 3U);
    for (const rte_mbuf* each : wire_->sent)
        EXPECT_EQ(each->ol_flags, 0U);
}

TEST_F(Csum, LeavesToThePortWhatItOffersToDo)
{
    stream_.tx_offloads = RTE_ETH_TX_OFFLOAD_IPV4_CKSUM | RTE_ETH_TX_OFFLOAD_UDP_CKSUM |
                          RTE_ETH_TX_OFFLOAD_TCP_CKSUM | RTE_ETH_TX_OFFLOAD_SCTP_CKSUM;
    struct Case {
        Bytes bytes;
        std::uint64_t flags;
        unsigned l2, l3, l4;
    };
    const Case cases[] = {
        {type4 + ipv4({}, udp(counted(5))), RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IP_CKSUM | RTE_MBUF_F_TX_UDP_CKSUM, 14,
         20, 8},
        {type4 + ipv4({}, udp(counted(5), 0)), RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IP_CKSUM, 14, 20, 0},
        {words({0x8100}) + vlan_tag(1, 0x0800) + ipv4({.protocol = 6, .options = {1, 1, 1, 1}}, tcp(counted(5))),
         RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IP_CKSUM | RTE_MBUF_F_TX_TCP_CKSUM, 18, 24, 20},
        {type6 + ipv6(6, tcp({})), RTE_MBUF_F_TX_IPV6 | RTE_MBUF_F_TX_TCP_CKSUM, 14, 40, 20},
        {type6 + ipv6(132, sctp({})), RTE_MBUF_F_TX_IPV6 | RTE_MBUF_F_TX_SCTP_CKSUM, 14, 40, 12},
        {type4 + ipv4({.fragment = 0x2000}, udp(counted(5))), RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IP_CKSUM, 14, 20, 0},
    };
    for (const auto& [bytes, flags, l2, l3, l4] : cases) {
        wire_->to_receive.push_back(packet(mac_b + mac_a + bytes));
        run(testpmd::csum);
        ASSERT_EQ(wire_->sent.size(), 1U);
        const rte_mbuf& sent = *wire_->sent[0];
        EXPECT_EQ(sent.ol_flags, flags);
        EXPECT_EQ(sent.l2_len, l2);
        EXPECT_EQ(sent.l3_len, l3);
        EXPECT_EQ(sent.l4_len, l4);
        take_sent();
    }
}

TEST_F(Csum, SumsItselfWhatThePortCannotBeToldOf)
{
    stream_.tx_offloads = RTE_ETH_TX_OFFLOAD_IPV4_CKSUM | RTE_ETH_TX_OFFLOAD_UDP_CKSUM;
    Bytes tags = words({0x8100});
    for (unsigned i = 0; i < 40; ++i) // longer than an mbuf's field can say
        tags = tags + vlan_tag(i, i < 39 ? 0x8100 : 0x0800);
    Bytes l4 = udp(counted(5));
    Bytes right = l4;
    write16(right, 6, 0);
    write16(right, 6, static_cast<std::uint16_t>(~sum_with_pseudo_header(ip_a + ip_b, 17, right)));
    EXPECT_EQ(after_addresses(tags + ipv4({}, l4)), tags + ipv4({}, right));
}

TEST_F(Csum, DropsWhatThePortCannotPrepare)
{
    stream_.tx_offloads = RTE_ETH_TX_OFFLOAD_UDP_CKSUM;
    wire_->prepares = 3;
    for (int i = 0; i < 10; ++i)
        wire_->to_receive.push_back(packet(ethernet(0x0800) + ipv4({}, udp(counted(5)))));
    run(testpmd::csum);
    EXPECT_EQ(wire_->sent.size(), 3U);
    EXPECT_EQ(stream_.dropped.value(), 7U);
    EXPECT_EQ(stream_.tx_packets.value(), 3U);
}

} // namespace
