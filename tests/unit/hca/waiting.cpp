// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Work that waits: for a receive, and for a peer that is not ready.
#include "engine.hpp"

#include <chrono>

using namespace mrz;
using namespace mrz::hca;
using namespace std::chrono_literals;

namespace {

class Waiting : public EngineTest {
  protected:
    std::vector<Sge> sges{alice.sge(0, 8)};

    void send(std::uint64_t id, SendOpcode opcode = SendOpcode::send)
    {
        ASSERT_EQ(hca.post_send(*alice.qp, request(opcode, sges, bob, 0, id)), 0);
    }
};

} // namespace

TEST_F(Waiting, APostedReceiveLetsTheSenderGoOnAtOnce)
{
    connect();
    const auto before = bytes(bob);
    send(1);
    send(2, SendOpcode::rdma_write);
    send(3);
    EXPECT_TRUE(completions(alice).empty()) << "what comes behind it waits too";
    EXPECT_EQ(bytes(bob), before);
    receive(bob, {bob.sge(100, 8)});
    EXPECT_EQ(completions(alice).size(), 2u);
    receive(bob, {bob.sge(200, 8)});
    EXPECT_EQ(only_status(alice), WcStatus::success);
    EXPECT_EQ(completions(bob).size(), 2u);
    EXPECT_FALSE(hca.next_deadline());
}

TEST_F(Waiting, RetriesAreCountedAndTimed)
{
    connect(all_rights, 2); // min_rnr_timer 1: 10 us
    send(1);
    EXPECT_EQ(hca.next_deadline(), now + 10us);
    now += 9us;
    EXPECT_TRUE(completions(alice).empty());
    EXPECT_EQ(hca.counters().receiver_not_ready, 1u);
    now += 1us;
    EXPECT_TRUE(completions(alice).empty());
    EXPECT_EQ(hca.counters().receiver_not_ready, 2u) << "the first retry";
    EXPECT_EQ(hca.next_deadline(), now + 10us);
    now += 10us;
    EXPECT_EQ(only_status(alice), WcStatus::rnr_retry_exceeded_error) << "the second";
    EXPECT_EQ(alice.qp->state(), QpState::err);
    EXPECT_EQ(bob.qp->state(), QpState::rts) << "has done nothing wrong";
    EXPECT_FALSE(hca.next_deadline());
}

TEST_F(Waiting, WithoutRetriesTheFirstRefusalIsTheLast)
{
    connect(all_rights, 0);
    send(1);
    EXPECT_EQ(only_status(alice), WcStatus::rnr_retry_exceeded_error);
}

TEST_F(Waiting, SevenRetriesNeverEnd)
{
    connect(all_rights, 7);
    send(1);
    for (int i = 0; i < 100; ++i) {
        now += 1ms;
        ASSERT_TRUE(completions(alice).empty());
    }
    receive(bob, {bob.sge(0, 8)});
    EXPECT_EQ(only_status(alice), WcStatus::success);
}

TEST_F(Waiting, ProgressWorksWithoutPolling)
{
    connect(all_rights, 1);
    send(1);
    now += 10us;
    hca.progress();
    EXPECT_EQ(alice.cq->size(), 1u);
}

TEST_F(Waiting, AWriteWithImmediateMovesNothingUntilThereIsAReceive)
{
    connect();
    const auto before = bytes(bob);
    send(1, SendOpcode::rdma_write_with_immediate);
    EXPECT_EQ(bytes(bob), before);
    receive(bob, {});
    EXPECT_NE(bytes(bob), before);
    EXPECT_EQ(only_status(alice), WcStatus::success);
}

TEST_F(Waiting, APeerThatBecomesReadyIsHeard)
{
    alice.qp = hca.create_qp(rc_options(alice));
    bob.qp = hca.create_qp(rc_options(bob));
    hca.modify_qp(*bob.qp, QpState::init, to_init_rc());
    hca.modify_qp(*alice.qp, QpState::init, to_init_rc());
    hca.modify_qp(*alice.qp, QpState::rtr, to_rtr_rc(bob.qp->number()));
    hca.modify_qp(*alice.qp, QpState::rts, to_rts_rc(7, 1, 1)); // 8.192 us, one retry
    send(1, SendOpcode::rdma_write);
    EXPECT_EQ(hca.next_deadline(), now + 8192ns);
    hca.modify_qp(*bob.qp, QpState::rtr, to_rtr_rc(alice.qp->number()));
    EXPECT_EQ(only_status(alice), WcStatus::success);
}

TEST_F(Waiting, APeerThatIsNeverReadyExceedsTheRetries)
{
    alice.qp = hca.create_qp(rc_options(alice));
    bob.qp = hca.create_qp(rc_options(bob));
    hca.modify_qp(*alice.qp, QpState::init, to_init_rc());
    hca.modify_qp(*alice.qp, QpState::rtr, to_rtr_rc(bob.qp->number()));
    hca.modify_qp(*alice.qp, QpState::rts, to_rts_rc(7, 1, 1));
    send(1, SendOpcode::rdma_write);
    now += 8192ns;
    EXPECT_TRUE(completions(alice).empty());
    now += 8192ns;
    EXPECT_EQ(only_status(alice), WcStatus::retry_exceeded_error);
}

TEST_F(Waiting, AFailingPeerEndsTheWait)
{
    connect();
    send(1);
    hca.modify_qp(*bob.qp, QpState::err);
    EXPECT_EQ(only_status(alice), WcStatus::retry_exceeded_error);
}

TEST_F(Waiting, APeersOwnMistakeEndsTheWait)
{
    connect();
    send(1);
    const std::vector<Sge> bad = {{Iova{0}, 8, LKey{1}}};
    ASSERT_EQ(hca.post_send(*bob.qp, request(SendOpcode::rdma_write, bad, alice, 0)), 0);
    EXPECT_EQ(only_status(bob), WcStatus::local_protection_error);
    EXPECT_EQ(only_status(alice), WcStatus::retry_exceeded_error);
}

TEST_F(Waiting, ADestroyedPeerEndsTheWait)
{
    connect();
    send(1);
    hca.destroy_qp(bob.qp);
    EXPECT_EQ(only_status(alice), WcStatus::retry_exceeded_error);
}

TEST_F(Waiting, OnesOwnFailureFlushesWhatWaits)
{
    connect();
    send(1);
    send(2);
    hca.modify_qp(*alice.qp, QpState::err);
    const auto flushed = completions(alice);
    ASSERT_EQ(flushed.size(), 2u);
    EXPECT_EQ(flushed[0].status, WcStatus::flush_error);
    EXPECT_FALSE(hca.next_deadline());
}
