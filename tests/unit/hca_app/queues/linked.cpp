// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Two devices of two guests, and a link between them.
#include "guest.hpp"

#include "unit/hca/linked.hpp"

namespace mrz::queues {
namespace {

using layouts::CqeOpcode;
using layouts::CqeSyndrome;
using layouts::WqeOpcode;
using namespace std::chrono_literals;

constexpr std::uint16_t near_lid = 7; // DataPathTest's
constexpr std::uint16_t far_lid = 8;
constexpr std::uint32_t qkey = 0x1111;

//! A device, its guest, and a completion queue of 32.
class Side : public DataPathTest {
  public:
    Side() : cqn{make_cq(cq)}, key{make_buffer(buffer, 1)} {}
    void TestBody() override {}

    using DataPathTest::connect;
    using DataPathTest::engine;
    using DataPathTest::memory;
    using DataPathTest::opcode;
    using DataPathTest::pass;
    using DataPathTest::path;
    using DataPathTest::pd;
    using DataPathTest::post;
    using DataPathTest::router;
    using DataPathTest::syndrome;

    void make(QpKind kind, bool general_services = false)
    {
        QueuePairOptions options = qp.options(kind, pd, cqn);
        options.general_services = general_services;
        qp.number = path.create_qp(std::move(options));
    }
    void ready_for_datagrams(std::uint32_t its_qkey = qkey)
    {
        hca::QpAttributes init;
        init.qkey = its_qkey;
        path.modify_qp(qp.number, hca::QpState::init, init);
        path.modify_qp(qp.number, hca::QpState::rtr, {});
        hca::QpAttributes rts;
        rts.send_psn = 0;
        path.modify_qp(qp.number, hca::QpState::rts, rts);
    }
    Bytes bytes(std::uint64_t offset, std::size_t count)
    {
        const auto there = memory.at(buffer + offset, count);
        return {there.begin(), there.end()};
    }

    DriverCq cq{memory, 5};
    std::uint32_t cqn;
    DriverQp qp{memory, 5, 4};
    std::uint64_t buffer = 0;
    std::uint32_t key;
    std::shared_ptr<hca::Link> link;
};

class LinkedPaths : public testing::Test {
  protected:
    LinkedPaths()
    {
        auto [near_wire, far_wire] = hca::make_wires();
        near.link = std::make_shared<hca::Link>(std::move(near_wire));
        far.link = std::make_shared<hca::Link>(std::move(far_wire));
        near.router = [this](const PeerAddress& peer) {
            return peer.lid == far_lid ? Route{true, near.link} : Route{peer.lid == near_lid, {}};
        };
    }
    void connect()
    {
        near.make(QpKind::rc);
        far.make(QpKind::rc);
        near.connect(near.qp.number, far.qp.number, 7, near.link);
        far.connect(far.qp.number, near.qp.number, 7, far.link);
    }
    //! Until neither has anything to do.
    void work()
    {
        for (bool more = true; more;) {
            more = false;
            for (Side* const side : {&near, &far}) {
                more = side->path.turn() || more;
                more = side->engine.progress(*side->link, true) || more;
            }
        }
    }
    Bytes write(std::uint32_t count)
    {
        Bytes entry;
        append_control(entry, WqeOpcode::rdma_write);
        append_remote(entry, far.buffer, far.key);
        append_piece(entry, near.buffer, count, near.key);
        return ended(entry);
    }
    Bytes datagram(std::uint16_t lid, bool global, std::uint32_t its_qkey = qkey)
    {
        Bytes entry;
        append_control(entry, WqeOpcode::send);
        namespace av = layouts::av;
        append(entry,
               {{av::qkey, its_qkey},
                {av::dqp_dct, far.qp.number},
                {av::extended, 1},
                {av::rlid, lid},
                {av::grh, global},
                {av::tclass, 0x5a},
                {av::hop_limit, 9},
                {{static_cast<std::uint16_t>(av::rgid.offset * 8 + 120), 8}, 0x77}},
               av::bytes);
        append_piece(entry, near.buffer, 101, near.key);
        return ended(entry);
    }

    Side near;
    Side far;
};

TEST_F(LinkedPaths, WriteIntoTheOtherGuestsMemory)
{
    connect();
    const Bytes message = near.bytes(0, 16000);
    std::ranges::fill(far.memory.at(far.buffer, 16384), std::byte{0});
    near.post(near.qp, write(16000));
    work();
    const auto done = near.cq.next();
    ASSERT_TRUE(done);
    EXPECT_EQ(Side::opcode(*done), CqeOpcode::req);
    EXPECT_EQ(far.bytes(0, 16000), message);
    EXPECT_EQ(far.bytes(16000, 100), Bytes(100));
}

TEST_F(LinkedPaths, TheOtherDeviceChecksItsKeys)
{
    connect();
    const Bytes before = far.bytes(0, 16384);
    Bytes entry;
    append_control(entry, WqeOpcode::rdma_write);
    append_remote(entry, far.buffer + 1, far.key);
    append_piece(entry, near.buffer, 16384, near.key);
    near.post(near.qp, ended(entry));
    work();
    const auto failed = near.cq.next();
    ASSERT_TRUE(failed);
    EXPECT_EQ(Side::syndrome(*failed), CqeSyndrome::remote_access);
    EXPECT_EQ(far.bytes(0, 16384), before);
}

TEST_F(LinkedPaths, AReceiveThatComesLaterIsFound)
{
    connect();
    Bytes entry;
    append_control(entry, WqeOpcode::send);
    append_piece(entry, near.buffer, 500, near.key);
    near.post(near.qp, ended(entry));
    work();
    EXPECT_FALSE(near.cq.next());
    far.qp.receive(far.buffer, 4096, far.key); // and tells nobody
    far.pass(1s);
    work();
    const auto received = far.cq.next();
    ASSERT_TRUE(received);
    EXPECT_EQ(Side::opcode(*received), CqeOpcode::resp_send);
    EXPECT_TRUE(near.cq.next());
}

TEST_F(LinkedPaths, DatagramsGoByLidAndBringWhereTheyComeFrom)
{
    for (Side* const side : {&near, &far}) {
        side->make(QpKind::ud);
        side->ready_for_datagrams();
    }
    const Bytes message = near.bytes(0, 101);
    for (int i = 0; i < 2; ++i)
        far.qp.receive(far.buffer + 1000U * static_cast<unsigned>(i), 1000, far.key);
    near.post(near.qp, datagram(far_lid, false));
    near.post(near.qp, datagram(far_lid, true));
    work();
    for (const bool global : {false, true}) {
        EXPECT_TRUE(near.cq.next());
        const auto received = far.cq.next();
        ASSERT_TRUE(received);
        EXPECT_EQ(field(*received, layouts::cqe64::slid), near_lid);
        EXPECT_EQ(field(*received, layouts::cqe64::rqpn), near.qp.number);
        EXPECT_EQ(field(*received, layouts::cqe64::byte_cnt), 141u);
        EXPECT_EQ(field(*received, layouts::cqe64::grh), global);
        EXPECT_EQ(far.bytes(global ? 1040 : 40, 101), message);
    }
    const Bytes header = far.bytes(1000, 40);
    EXPECT_EQ(field(header, {0, 12}), 0x65au) << "version and traffic class";
    EXPECT_EQ(field(header, {32, 16}), 12u + 8 + 104 + 4) << "what follows, padded";
    EXPECT_EQ(field(header, {48, 16}), 0x1b09u) << "next header, hop limit";
    EXPECT_EQ(field(header, {64, 16}), 0xfe80u) << "source";
    EXPECT_EQ(field(header, {312, 8}), 0x77u) << "destination";
}

TEST_F(LinkedPaths, GeneralServicesAreQueuePairOneOfEach)
{
    for (Side* const side : {&near, &far}) {
        side->make(QpKind::ud, true);
        EXPECT_EQ(side->qp.number, 1u);
        side->ready_for_datagrams(0x8001'0000);
        side->qp.receive(side->buffer + 1000, 1000, side->key);
    }
    near.post(near.qp, datagram(far_lid, false, 0x11));
    near.post(near.qp, datagram(far_lid, false, 0x8000'0000)); // the sender's own
    work();
    const auto received = far.cq.next();
    ASSERT_TRUE(received);
    EXPECT_EQ(field(*received, layouts::cqe64::slid), near_lid);
    EXPECT_EQ(field(*received, layouts::cqe64::rqpn), 1u);
    EXPECT_EQ(field(*received, layouts::cqe64::pkey), 0xffffu);
    EXPECT_EQ(far.engine.counters().datagrams_dropped, 1u) << "of another key";
    EXPECT_TRUE(near.cq.next());
    EXPECT_TRUE(near.cq.next());

    near.post(near.qp, datagram(near_lid, false, 0x8000'0000));
    work();
    EXPECT_TRUE(near.cq.next());
    EXPECT_TRUE(near.cq.next()) << "to itself";
}

TEST_F(LinkedPaths, DatagramsToNobodyAreLost)
{
    near.make(QpKind::ud);
    near.ready_for_datagrams();
    near.post(near.qp, datagram(99, false));
    work();
    const auto sent = near.cq.next();
    ASSERT_TRUE(sent);
    EXPECT_EQ(Side::opcode(*sent), CqeOpcode::req);
    EXPECT_EQ(near.link->counters().packets_sent, 0u);
    EXPECT_EQ(near.engine.counters().datagrams_dropped, 1u);
}

TEST_F(LinkedPaths, APeerThatDiesEndsWhatIsUnderWay)
{
    connect();
    near.post(near.qp, write(100));
    near.post(near.qp, write(200));
    near.path.turn();
    near.link->lost();
    work();
    const auto first = near.cq.next();
    ASSERT_TRUE(first);
    EXPECT_EQ(Side::opcode(*first), CqeOpcode::req_err);
    EXPECT_EQ(Side::syndrome(*first), CqeSyndrome::transport_retry_exc);
    const auto second = near.cq.next();
    ASSERT_TRUE(second);
    EXPECT_EQ(Side::syndrome(*second), CqeSyndrome::wr_flush);
}

} // namespace
} // namespace mrz::queues
