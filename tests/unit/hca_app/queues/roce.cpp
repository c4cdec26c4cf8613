// SPDX-License-Identifier: BSD-3-Clause
// Datagrams over Ethernet: their headers, and who gets them.
#include "guest.hpp"

#include "queues/qp_context.hpp"
#include "queues/roce_header.hpp"

#include "layouts/qpc.hpp"

namespace mrz::queues {
namespace {

using firmware::RoceAddress;
using firmware::RoceAddresses;
using layouts::CqeOpcode;
using layouts::WqeOpcode;
namespace layout = layouts::roce_addr_layout;

Gid gid_of(std::uint64_t high, std::uint64_t low)
{
    Gid gid{};
    layouts::set(gid, {0, 64}, high);
    layouts::set(gid, {64, 64}, low);
    return gid;
}
const Gid mapped = gid_of(0, 0xffff'0a01'0001);
const Gid other = gid_of(0, 0xffff'0a01'0002);
const Gid link_local = gid_of(0xfe80'0000'0000'0000, 0x15);
constexpr firmware::Mac mac{std::byte{2}, std::byte{0x15}, std::byte{0}, std::byte{0}, std::byte{0}, std::byte{1}};
constexpr std::uint64_t mac_number = 0x0215'0000'0001;

void put(RoceAddresses& addresses, std::uint64_t index, const Gid& gid, std::uint64_t version, std::uint64_t l3,
         std::optional<std::uint16_t> vlan = {})
{
    std::array<std::byte, layout::bytes> given{};
    std::ranges::copy(gid, given.begin());
    layouts::set(given, layout::source_mac_47_32, mac_number >> 32);
    layouts::set(given, layout::source_mac_31_0, mac_number);
    layouts::set(given, layout::roce_version, version);
    layouts::set(given, layout::roce_l3_type, l3);
    layouts::set(given, layout::vlan_valid, vlan ? 1 : 0);
    layouts::set(given, layout::vlan_id, vlan.value_or(0));
    addresses.set(index, given);
}

PeerAddress to(const Gid& gid)
{
    PeerAddress peer;
    peer.global = true;
    peer.gid = gid;
    peer.mac = mac;
    peer.traffic_class = 0x22;
    peer.hop_limit = 64;
    peer.flow_label = 0x12345;
    return peer;
}

} // namespace

TEST(RoceHeader, OfVersionOneIsAGlobalRoutingHeader)
{
    RoceAddress source;
    source.gid = link_local;
    const hca::Grh header = make_roce_header(to(mapped), source, 10, false);
    EXPECT_EQ(kind_of(source), RoceHeaderKind::grh);
    EXPECT_EQ(layouts::get(header, {0, 4}), 6u);
    EXPECT_EQ(layouts::get(header, {4, 8}), 0x22u);
    EXPECT_EQ(layouts::get(header, {32, 16}), 12u + 8 + 12 + 4) << "BTH, DETH, padded data, ICRC";
    EXPECT_EQ(layouts::get(header, {48, 8}), 0x1bu);
    EXPECT_TRUE(std::ranges::equal(std::span{header}.subspan(8, 16), source.gid));
    EXPECT_TRUE(std::ranges::equal(std::span{header}.subspan(24, 16), mapped));
}

TEST(RoceHeader, OfVersionTwoIsOneOfIp)
{
    RoceAddress source;
    source.version = RoceAddress::Version::v2;
    source.gid = link_local;
    EXPECT_EQ(kind_of(source), RoceHeaderKind::ipv6);
    const hca::Grh v6 = make_roce_header(to(link_local), source, 8, true);
    EXPECT_EQ(layouts::get(v6, {32, 16}), 8u + 12 + 8 + 4 + 8 + 4) << "UDP, BTH, DETH, immediate, data, ICRC";
    EXPECT_EQ(layouts::get(v6, {48, 8}), 17u) << "UDP";

    source.gid = mapped;
    source.ipv4 = true;
    EXPECT_EQ(kind_of(source), RoceHeaderKind::ipv4);
    const hca::Grh v4 = make_roce_header(to(other), source, 8, false);
    EXPECT_TRUE(std::ranges::all_of(std::span{v4}.first(20), [](std::byte byte) { return byte == std::byte{}; }));
    const auto own = std::span{v4}.subspan(20);
    EXPECT_EQ(layouts::get(own, {0, 8}), 0x45u);
    EXPECT_EQ(layouts::get(own, {16, 16}), 20u + 8 + 12 + 8 + 8 + 4);
    EXPECT_EQ(layouts::get(own, {64, 8}), 64u);
    EXPECT_EQ(layouts::get(own, {96, 32}), 0x0a010001u);
    EXPECT_EQ(layouts::get(own, {128, 32}), 0x0a010002u);
    std::uint64_t sum = 0;
    for (std::uint16_t bit = 0; bit < 160; bit = static_cast<std::uint16_t>(bit + 16))
        sum += layouts::get(own, {bit, 16});
    EXPECT_EQ((sum & 0xffff) + (sum >> 16), 0xffffu) << "the checksum";
}

TEST(RoceSender, IsKnownByWhatIsInPlaceOfALid)
{
    RoceAddress source;
    EXPECT_EQ(roce_sender_of(in_place_of_lid(source)), RoceSender{});
    source.version = RoceAddress::Version::v2;
    source.vlan = 0;
    EXPECT_EQ(roce_sender_of(in_place_of_lid(source)), (RoceSender{RoceHeaderKind::ipv6, 0}));
    source.ipv4 = true;
    source.vlan = 0xfff;
    EXPECT_EQ(roce_sender_of(in_place_of_lid(source)), (RoceSender{RoceHeaderKind::ipv4, 0xfff}));
}

TEST(RoceAddress, TakesWhatIsSentToItOfItsVersionAndVlan)
{
    RoceAddresses addresses;
    put(addresses, 0, mapped, 0, 0);
    put(addresses, 1, mapped, 2, 0);
    put(addresses, 2, link_local, 2, 1, std::uint16_t{7});
    const auto from = [&](std::uint8_t index) { return addresses.find(index).value(); };
    EXPECT_TRUE(addresses.takes(from(0), mapped, mac));
    EXPECT_TRUE(addresses.takes(from(1), mapped, mac));
    EXPECT_TRUE(addresses.takes(from(2), link_local, mac));
    EXPECT_FALSE(addresses.takes(from(1), link_local, mac)) << "in a VLAN";
    EXPECT_FALSE(addresses.takes(from(0), other, mac));
    EXPECT_FALSE(addresses.takes(from(0), mapped, firmware::Mac{}));
    EXPECT_FALSE(addresses.find(3));
    put(addresses, 1, Gid{}, 2, 1);
    EXPECT_FALSE(addresses.find(1)) << "without a GID it is empty";
    addresses.clear();
    EXPECT_FALSE(addresses.find(0));
}

TEST(RoceAddress, ThatMakesNoSenseIsRefused)
{
    RoceAddresses addresses;
    EXPECT_THROW(put(addresses, 256, mapped, 0, 0), firmware::Refusal);
    EXPECT_THROW(put(addresses, 0, mapped, 1, 0), firmware::Refusal) << "there is no version 1.5";
    EXPECT_THROW(put(addresses, 0, mapped, 2, 2), firmware::Refusal);
    EXPECT_THROW((void)addresses.get(256), firmware::Refusal);
    EXPECT_FALSE(addresses.find(0));
}

TEST(RoceAddress, OfAPeerIsInAQueuePairsPath)
{
    std::array<std::byte, layouts::qpc::bytes> context{};
    const auto path = layouts::part(std::span<std::byte>{context}, layouts::qpc::primary_address_path);
    layouts::set(path, layouts::ads::src_addr_index, 5);
    layouts::set(path, layouts::ads::rmac_47_32, mac_number >> 32);
    layouts::set(path, layouts::ads::rmac_31_0, mac_number);
    std::ranges::copy(mapped, layouts::part(path, layouts::ads::rgid_rip).begin());
    const PeerAddress peer = peer_of(context);
    EXPECT_EQ(peer.source, 5u);
    EXPECT_EQ(peer.mac, mac);
    EXPECT_EQ(peer.gid, mapped);
}

namespace {

//! Two datagram queue pairs of an Ethernet port.
class Roce : public DataPathTest {
  protected:
    Roce()
    {
        cqn = roce.create_cq(cq.options(eq.queue));
        key = make_buffer(buffer, 1);
        for (DriverQp* const qp : {&from, &there}) {
            qp->number = roce.create_qp(qp->options(QpKind::ud, pd, cqn));
            hca::QpAttributes init;
            init.qkey = 0x11;
            roce.modify_qp(qp->number, hca::QpState::init, init);
            roce.modify_qp(qp->number, hca::QpState::rtr, {});
            hca::QpAttributes rts;
            rts.send_psn = 0;
            roce.modify_qp(qp->number, hca::QpState::rts, rts);
        }
    }
    //! From the address of an index, as rdma-core says it: without a bit for the header.
    void send(std::uint8_t source, const Gid& gid)
    {
        namespace av = layouts::av;
        Bytes entry;
        append_control(entry, WqeOpcode::send);
        append(entry,
               {{av::qkey, 0x11},
                {av::extended, 1},
                {av::dqp_dct, there.number},
                {av::src_addr_index, source},
                {av::hop_limit, 64}},
               av::bytes);
        std::ranges::copy(mac, entry.begin() + 16 + av::rmac.offset);
        std::ranges::copy(gid, entry.begin() + 16 + av::rgid.offset);
        append_piece(entry, buffer, 30, key);
        from.write(ended(entry));
        from.tell_sends();
        Bytes doorbell(8);
        layouts::set(doorbell, layouts::wqe_ctrl_seg::qpn, from.number);
        roce.ring(DriverQp::uar, layouts::uar_send, doorbell);
        for (int turns = 0; roce.turn(); ++turns)
            ASSERT_LT(turns, 1000);
    }

    RoceAddresses addresses;
    DataPath roce{{.engine = engine,
                   .bus = memory,
                   .event_queues = event_queues,
                   .change_key = {},
                   .inbox = inbox,
                   .router =
                       [this](const PeerAddress& peer) {
                           Route route;
                           route.source = addresses.find(peer.source);
                           route.reachable = route.source && addresses.takes(*route.source, peer.gid, peer.mac);
                           return route;
                       },
                   .ethernet = true,
                   .now = [this] { return now; }}};
    DriverCq cq{memory, 4};
    DriverQp from{memory, 3, 2};
    DriverQp there{memory, 3, 2};
    std::uint32_t cqn = 0;
    std::uint64_t buffer = 0;
    std::uint32_t key = 0;
};

} // namespace

TEST_F(Roce, BringsTheHeaderThatTheSendersAddressHas)
{
    put(addresses, 0, link_local, 0, 0);
    put(addresses, 1, link_local, 2, 1);
    put(addresses, 2, mapped, 2, 0);
    const std::array gids{link_local, link_local, mapped};
    constexpr std::array kinds{RoceHeaderKind::grh, RoceHeaderKind::ipv6, RoceHeaderKind::ipv4};
    for (std::uint8_t index = 0; index < 3; ++index) {
        there.receive(buffer + 4096, 4096, key);
        send(index, gids.at(index));
        const auto received = cq.next();
        ASSERT_TRUE(received);
        EXPECT_EQ(opcode(*received), CqeOpcode::resp_send);
        EXPECT_NE(field(*received, layouts::cqe64::grh), 0u);
        EXPECT_EQ(field(*received, layouts::cqe64::roce_l3_type), static_cast<std::uint64_t>(kinds.at(index)));
        EXPECT_EQ(field(*received, layouts::cqe64::slid), 0u);
        EXPECT_EQ(field(*received, layouts::cqe64::byte_cnt), 70u);
        const auto version = std::to_integer<unsigned>(memory.at(buffer + 4096 + (index == 2 ? 20 : 0), 1)[0]) >> 4;
        EXPECT_EQ(version, index == 2 ? 4u : 6u);
        EXPECT_TRUE(std::ranges::equal(memory.at(buffer + 4096 + 40, 30), memory.at(buffer, 30)));
        EXPECT_TRUE(cq.next()) << "the sender's";
    }
}

TEST_F(Roce, SaysInWhichVlanADatagramCame)
{
    put(addresses, 0, mapped, 2, 0);
    put(addresses, 1, other, 2, 0, std::uint16_t{7});
    for (const bool vlan : {false, true}) {
        there.receive(buffer + 4096, 4096, key);
        send(vlan ? 1 : 0, vlan ? other : mapped);
        const auto received = cq.next();
        ASSERT_TRUE(received);
        EXPECT_EQ(opcode(*received), CqeOpcode::resp_send);
        EXPECT_EQ(field(*received, layouts::cqe64::vlan_present), vlan);
        EXPECT_EQ(field(*received, layouts::cqe64::vlan_info), vlan ? 7u : 0u);
        EXPECT_EQ(field(*received, layouts::cqe64::roce_l3_type), 2u);
        EXPECT_TRUE(cq.next()) << "the sender's";
    }
}

TEST_F(Roce, ReachesNobodyAtAnAddressThatIsNotThere)
{
    put(addresses, 0, mapped, 2, 0);
    there.receive(buffer + 4096, 4096, key);
    send(0, other);
    send(9, mapped);
    for (int i = 0; i < 2; ++i) {
        const auto sent = cq.next();
        ASSERT_TRUE(sent);
        EXPECT_EQ(opcode(*sent), CqeOpcode::req);
    }
    EXPECT_FALSE(cq.next());
}

} // namespace mrz::queues
