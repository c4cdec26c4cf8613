// SPDX-License-Identifier: BSD-3-Clause
#include "engine.hpp"

#include <algorithm>
#include <cerrno>

using namespace mrz;
using namespace mrz::hca;

namespace {

constexpr std::uint32_t qkey = 0x1234;

class Datagrams : public EngineTest {
  protected:
    Datagrams()
    {
        for (Side* side : {&alice, &bob}) {
            QpOptions options = rc_options(*side);
            options.type = QpType::ud;
            side->qp = hca.create_qp(options);
            hca.modify_qp(*side->qp, QpState::init, {.qkey = qkey});
            hca.modify_qp(*side->qp, QpState::rtr);
            hca.modify_qp(*side->qp, QpState::rts, {.send_psn = 0});
        }
    }
    SendWorkRequest datagram(const std::vector<Sge>& sges, std::uint64_t id = 1)
    {
        SendWorkRequest work = request(SendOpcode::send, sges, bob, 0, id);
        work.remote_qpn = bob.qp->number();
        work.remote_qkey = qkey;
        return work;
    }
    WcStatus send(const SendWorkRequest& work)
    {
        EXPECT_EQ(hca.post_send(*alice.qp, work), 0);
        return only_status(alice);
    }
};

} // namespace

TEST_F(Datagrams, ArriveBehindRoomForAHeader)
{
    const std::vector<Sge> sges = {alice.sge(0, 100)};
    const auto before = bytes(bob);
    const auto source = bytes(alice);
    receive(bob, {bob.sge(0, 30), bob.sge(1000, 200)});
    SendWorkRequest work = datagram(sges);
    work.opcode = SendOpcode::send_with_immediate;
    EXPECT_EQ(send(work), WcStatus::success);
    const auto received = completions(bob);
    ASSERT_EQ(received.size(), 1u);
    EXPECT_EQ(received[0].byte_length, 140u);
    EXPECT_EQ(received[0].source_qpn, alice.qp->number());
    EXPECT_EQ(received[0].immediate, 0xabcdu);
    auto expected = before;
    std::copy_n(source.begin(), 100, expected.begin() + 1010);
    EXPECT_EQ(bytes(bob), expected);
}

TEST_F(Datagrams, AreDroppedWhereNobodyTakesThem)
{
    const std::vector<Sge> sges = {alice.sge(0, 8)};
    EXPECT_EQ(send(datagram(sges)), WcStatus::success) << "no receive";
    EXPECT_EQ(hca.counters().datagrams_dropped, 1u);
    receive(bob, {bob.sge(0, 100)});
    SendWorkRequest work = datagram(sges);
    work.remote_qpn = 0xabcdef;
    EXPECT_EQ(send(work), WcStatus::success) << "no such queue pair";
    work = datagram(sges);
    work.remote_qkey = qkey + 1;
    EXPECT_EQ(send(work), WcStatus::success) << "wrong queue key";
    EXPECT_EQ(hca.counters().datagrams_dropped, 3u);
    EXPECT_TRUE(completions(bob).empty());
    work.remote_qkey = 0x8000'0000;
    EXPECT_EQ(send(work), WcStatus::success) << "the sender's own queue key";
    EXPECT_EQ(completions(bob).size(), 1u);
}

TEST_F(Datagrams, AreAtMostOfTheMtu)
{
    receive(bob, {bob.sge(0, 4136)});
    EXPECT_EQ(send(datagram({alice.sge(0, 4096)})), WcStatus::success);
    EXPECT_EQ(completions(bob).at(0).byte_length, 4136u);
    EXPECT_EQ(send(datagram({alice.sge(0, 4097)})), WcStatus::local_length_error);
    EXPECT_EQ(alice.qp->state(), QpState::sqe);
}

TEST_F(Datagrams, AFailedSendStopsSendingOnly)
{
    receive(alice, {alice.sge(0, 100)}, 7);
    const std::vector<Sge> bad = {{Iova{0}, 8, LKey{1}}};
    const std::vector<Sge> good = {alice.sge(0, 8)};
    ASSERT_EQ(hca.post_send(*alice.qp, datagram(bad, 1)), 0);
    ASSERT_EQ(hca.post_send(*alice.qp, datagram(good, 2)), 0);
    const auto sent = completions(alice);
    ASSERT_EQ(sent.size(), 2u);
    EXPECT_EQ(sent[0].status, WcStatus::local_protection_error);
    EXPECT_EQ(sent[1].status, WcStatus::flush_error);
    EXPECT_EQ(alice.qp->state(), QpState::sqe);

    SendWorkRequest answer = request(SendOpcode::send, good, alice, 0);
    answer.remote_qpn = alice.qp->number();
    answer.remote_qkey = qkey;
    const std::vector<Sge> from_bob = {bob.sge(0, 8)};
    answer.sges = from_bob;
    ASSERT_EQ(hca.post_send(*bob.qp, answer), 0);
    EXPECT_EQ(only_status(alice), WcStatus::success) << "receives still";

    hca.modify_qp(*alice.qp, QpState::rts);
    EXPECT_EQ(send(datagram(good)), WcStatus::success);
}

TEST_F(Datagrams, ATooSmallReceiveFailsItsQueuePairOnly)
{
    receive(bob, {bob.sge(0, 47)}, 1);
    receive(bob, {bob.sge(0, 100)}, 2);
    const auto before = bytes(bob);
    EXPECT_EQ(send(datagram({alice.sge(0, 8)})), WcStatus::success);
    const auto ended = completions(bob);
    ASSERT_EQ(ended.size(), 2u);
    EXPECT_EQ(ended[0].status, WcStatus::local_length_error);
    EXPECT_EQ(ended[1].status, WcStatus::flush_error);
    EXPECT_EQ(bob.qp->state(), QpState::err);
    EXPECT_EQ(alice.qp->state(), QpState::rts);
    EXPECT_EQ(bytes(bob), before);
}

TEST_F(Datagrams, AnEmptyOneNeedsTheRoomForAHeaderToo)
{
    receive(bob, {bob.sge(0, 40)});
    EXPECT_EQ(send(datagram({})), WcStatus::success);
    EXPECT_EQ(only_status(bob), WcStatus::success);
    receive(bob, {bob.sge(0, 39)});
    EXPECT_EQ(send(datagram({})), WcStatus::success);
    EXPECT_EQ(only_status(bob), WcStatus::local_length_error);
}

TEST_F(Datagrams, ToAndFromGeneralServicesAreQueuePairOnes)
{
    hca.destroy_qp(bob.qp);
    QpOptions options = rc_options(bob);
    options.type = QpType::ud;
    options.general_services = true;
    bob.qp = hca.create_qp(options);
    EXPECT_EQ(bob.qp->number(), 1u);
    hca.modify_qp(*bob.qp, QpState::init, {.qkey = 0x8001'0000});
    hca.modify_qp(*bob.qp, QpState::rtr);
    hca.modify_qp(*bob.qp, QpState::rts, {.send_psn = 0});

    const std::vector<Sge> sges = {alice.sge(0, 8)};
    receive(bob, {bob.sge(0, 100)});
    SendWorkRequest work = datagram(sges);
    EXPECT_EQ(send(work), WcStatus::success);
    work.remote_qkey = 0x8001'0000;
    EXPECT_EQ(send(work), WcStatus::success) << "who is not privileged sends his own key";
    EXPECT_TRUE(completions(bob).empty());
    hca.modify_qp(*alice.qp, QpState::rts, {.qkey = 0x8001'0000});
    EXPECT_EQ(send(work), WcStatus::success);
    EXPECT_EQ(only_status(bob), WcStatus::success);

    receive(alice, {alice.sge(0, 100)});
    const std::vector<Sge> from_bob = {bob.sge(0, 8)};
    SendWorkRequest answer = request(SendOpcode::send, from_bob, alice, 0);
    answer.remote_qpn = alice.qp->number();
    answer.remote_qkey = 0x8000'0000;
    ASSERT_EQ(hca.post_send(*bob.qp, answer), 0);
    const auto received = completions(alice);
    ASSERT_EQ(received.size(), 1u);
    EXPECT_EQ(received[0].source_qpn, 1u);
}

TEST_F(Datagrams, AreSendsOnly)
{
    for (const SendOpcode opcode : {SendOpcode::rdma_write, SendOpcode::rdma_write_with_immediate,
                                    SendOpcode::rdma_read, SendOpcode::compare_and_swap, SendOpcode::fetch_and_add})
        EXPECT_EQ(hca.post_send(*alice.qp, request(opcode, {alice.sge(0, 8)}, bob, 0)), EINVAL);
}
