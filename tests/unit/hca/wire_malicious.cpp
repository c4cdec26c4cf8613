// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! An engine whose peer is no engine: it writes into the ring what it likes.
#include "linked.hpp"

#include <cstring>
#include <random>

using namespace mrz;
using namespace mrz::hca;

namespace {

class WireMalicious : public ::testing::Test {
  protected:
    static constexpr std::uint64_t region_bytes = 64 << 10;

    WireMalicious()
    {
        auto [engine_wire, peer_wire] = make_wires();
        victim.link = std::make_shared<Link>(std::move(engine_wire));
        peer = std::move(peer_wire);
        victim.make_qp();
        victim.connect(peer_qpn);
    }
    [[nodiscard]] Packet packet(PacketKind kind, std::uint32_t sequence = 0) const
    {
        Packet made;
        made.kind = static_cast<std::uint8_t>(kind);
        made.source_qpn = peer_qpn;
        made.destination_qpn = victim.qp->number();
        made.sequence = sequence;
        made.rkey = victim.rkey.value;
        made.address = victim.pages.start;
        return made;
    }
    void write(Packet packet)
    {
        std::vector<std::byte> bytes(packet.payload, std::byte{0x5a});
        const Piece piece{bytes.data(), bytes.size()};
        ASSERT_TRUE(peer->out().has_room(packet.payload));
        static_cast<void>(peer->out().write(packet, {&piece, 1}));
    }
    void settle()
    {
        while (victim.hca.progress(*victim.link)) {
        }
    }
    //! What the engine answered.
    std::vector<Packet> answers()
    {
        std::vector<Packet> result;
        Packet seen;
        while (peer->in().peek(seen) == RingReader::Next::packet) {
            result.push_back(seen);
            peer->in().pop();
        }
        return result;
    }
    void expect_refused(Packet bad, Answer answer)
    {
        const auto before = victim.bytes();
        write(bad);
        settle();
        const auto told = answers();
        ASSERT_EQ(told.size(), 1u);
        EXPECT_EQ(told[0].kind, static_cast<std::uint8_t>(PacketKind::refused));
        EXPECT_EQ(told[0].code, static_cast<std::uint8_t>(answer));
        EXPECT_TRUE(victim.bytes() == before);
        EXPECT_TRUE(victim.link->open());
    }

    static constexpr std::uint32_t peer_qpn = 77;
    End victim{3, region_bytes};
    std::unique_ptr<Wire> peer;
};

} // namespace

TEST_F(WireMalicious, AnUnknownKindEndsTheLinkAndThePeerIsToldWhy)
{
    Packet bad = packet(PacketKind::request);
    bad.kind = 200;
    write(bad);
    settle();
    EXPECT_TRUE(victim.link->ended());
    EXPECT_EQ(victim.qp->state(), QpState::err);
    const Wire::Heard heard = peer->hear();
    EXPECT_TRUE(heard.gone);
    EXPECT_EQ(heard.why, victim.link->why());
}

TEST_F(WireMalicious, ALengthThatDoesNotFitItsPayloadIsRefused)
{
    Packet bad = packet(PacketKind::request);
    bad.code = static_cast<std::uint8_t>(SendOpcode::rdma_write);
    bad.length = 10;
    bad.payload = 11;
    expect_refused(bad, Answer::invalid_request);
}

TEST_F(WireMalicious, AMessageLargerThanAnyIsRefused)
{
    Packet bad = packet(PacketKind::request);
    bad.length = 1ULL << 40;
    bad.payload = 10;
    expect_refused(bad, Answer::invalid_request);
}

TEST_F(WireMalicious, APartWithoutBytesIsRefused)
{
    Packet bad = packet(PacketKind::request);
    bad.length = 10;
    expect_refused(bad, Answer::invalid_request);
}

TEST_F(WireMalicious, AnUnknownOperationIsRefused)
{
    Packet bad = packet(PacketKind::request);
    bad.code = 99;
    expect_refused(bad, Answer::invalid_request);
}

TEST_F(WireMalicious, ALongAtomicIsRefused)
{
    Packet bad = packet(PacketKind::request);
    bad.code = static_cast<std::uint8_t>(SendOpcode::fetch_and_add);
    bad.length = 16;
    expect_refused(bad, Answer::invalid_request);
}

TEST_F(WireMalicious, AGuessedKeyIsRefused)
{
    Packet bad = packet(PacketKind::request);
    bad.rkey ^= 1;
    bad.length = bad.payload = 8;
    expect_refused(bad, Answer::access_error);
}

TEST_F(WireMalicious, ARangeThatWrapsIsRefused)
{
    Packet bad = packet(PacketKind::request);
    bad.address = ~0ULL - 3;
    bad.length = bad.payload = 8;
    expect_refused(bad, Answer::access_error);
}

TEST_F(WireMalicious, FurtherPartsReachNothingButTheMessagesRest)
{
    Packet first = packet(PacketKind::request);
    first.length = 100;
    first.payload = 50;
    write(first);
    settle();
    Packet more = packet(PacketKind::more);
    more.address = 50;
    more.payload = 51; // one too many
    expect_refused(more, Answer::invalid_request);
}

TEST_F(WireMalicious, APartOfNoMessageIsToComeAgainFromTheBegin)
{
    Packet more = packet(PacketKind::more);
    more.payload = 8;
    const auto before = victim.bytes();
    for (int i = 0; i < 3; ++i)
        write(more);
    settle();
    const auto told = answers();
    ASSERT_EQ(told.size(), 1u) << "once an attempt";
    EXPECT_EQ(told[0].code, static_cast<std::uint8_t>(Answer::not_yet));
    EXPECT_TRUE(victim.bytes() == before);
}

TEST_F(WireMalicious, ASecondBeginWithinAMessageIsRefused)
{
    Packet first = packet(PacketKind::request);
    first.length = 100;
    first.payload = 50;
    write(first);
    write(first);
    settle();
    const auto told = answers();
    ASSERT_EQ(told.size(), 1u);
    EXPECT_EQ(told[0].code, static_cast<std::uint8_t>(Answer::invalid_request));
}

TEST_F(WireMalicious, AnotherQueuePairsNumberReachesNobody)
{
    Packet bad = packet(PacketKind::request);
    bad.source_qpn = 78;
    bad.length = bad.payload = 8;
    expect_refused(bad, Answer::nobody);
    bad.destination_qpn = 12345;
    expect_refused(bad, Answer::nobody);
}

TEST_F(WireMalicious, ReadsBeyondWhatIsAllowedAreRefusedAndBounded)
{
    for (std::uint32_t i = 0; i < 40; ++i) {
        Packet read = packet(PacketKind::request, i);
        read.code = static_cast<std::uint8_t>(SendOpcode::rdma_read);
        read.length = region_bytes;
        write(read);
    }
    settle();
    EXPECT_EQ(victim.qp->state(), QpState::err);
}

TEST_F(WireMalicious, AnswersToNothingDoNothing)
{
    for (const PacketKind kind :
         {PacketKind::done, PacketKind::original, PacketKind::data, PacketKind::refused, PacketKind::receive_ready})
        write(packet(kind, 3));
    settle();
    EXPECT_EQ(victim.qp->state(), QpState::rts);
    EXPECT_TRUE(victim.completions().empty());
}

TEST_F(WireMalicious, AReadIsAnsweredByItsDataAndByNothingElse)
{
    const auto before = victim.bytes();
    ASSERT_EQ(victim.post(SendOpcode::rdma_read, victim.sge(0, 8), victim, 0), 0);
    write(packet(PacketKind::done, 0));
    settle();
    const auto all = victim.completions();
    ASSERT_EQ(all.size(), 1u);
    EXPECT_EQ(all[0].status, WcStatus::bad_response_error);
    EXPECT_TRUE(victim.bytes() == before);
}

TEST_F(WireMalicious, DataGoesNoFartherThanTheRead)
{
    const auto before = victim.bytes();
    ASSERT_EQ(victim.post(SendOpcode::rdma_read, victim.sge(0, 8), victim, 0), 0);
    Packet data = packet(PacketKind::data, 0);
    data.address = 0;
    data.payload = 9;
    write(data);
    settle();
    EXPECT_EQ(victim.completions().at(0).status, WcStatus::bad_response_error);
    EXPECT_TRUE(victim.bytes() == before);
}

TEST_F(WireMalicious, APeerThatNeverReadsFillsTheRingAndNoMore)
{
    int posted = 0;
    while (victim.post(SendOpcode::rdma_write, victim.sge(0, 60'000), victim, 0) == 0)
        ++posted;
    settle();
    EXPECT_EQ(posted, 64);
    EXPECT_TRUE(victim.completions().empty());
    EXPECT_TRUE(victim.link->sleep()) << "waits for room, and is woken when there is some";
    static_cast<void>(answers());
    EXPECT_TRUE(peer->in().wakes_writer());
}

TEST_F(WireMalicious, RandomPacketsDoNoHarm)
{
    std::mt19937 random{11};
    for (int round = 0; round < 300; ++round) {
        auto [engine_wire, peer_wire] = make_wires();
        victim.hca.modify_qp(*victim.qp, QpState::reset);
        victim.hca.modify_qp(*victim.qp, QpState::init, to_init_rc(all_rights));
        victim.link = std::make_shared<Link>(std::move(engine_wire));
        peer = std::move(peer_wire);
        victim.connect(peer_qpn);
        static_cast<void>(victim.completions());
        for (int i = 0; i < 4; ++i) {
            static_cast<void>(victim.receive(victim.sge(1000, 100)));
            static_cast<void>(victim.post(static_cast<SendOpcode>(random() % 5), victim.sge(500, 100), victim, 0));
        }
        for (int i = 0; i < 20; ++i) {
            Packet bad = packet(static_cast<PacketKind>(1 + random() % 8), static_cast<std::uint32_t>(random() % 6));
            bad.code = static_cast<std::uint8_t>(random() % 8);
            bad.length = random() % 300;
            bad.payload = static_cast<std::uint32_t>(random() % 2 == 0 ? bad.length : random() % 300);
            bad.address = random() % 2 == 0 ? victim.pages.start : random() % 300;
            write(bad);
            if (random() % 4 == 0)
                settle();
        }
        settle();
    }
}
