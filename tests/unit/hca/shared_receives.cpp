// SPDX-License-Identifier: BSD-3-Clause
#include "engine.hpp"

#include <cerrno>
#include <utility>

using namespace mrz;
using namespace mrz::hca;

namespace {

class SharedReceives : public EngineTest {
  protected:
    // Two pairs whose second ends take from one queue.
    void connect_shared(std::uint8_t rnr_retry = 7)
    {
        srq = hca.create_srq({.pd = pd, .max_work_requests = 8, .max_sges = 2});
        for (int i = 0; i < 2; ++i) {
            const auto from = hca.create_qp(rc_options(alice));
            QpOptions options = rc_options(bob);
            options.srq = srq;
            const auto to = hca.create_qp(options);
            for (const auto& [qp, peer] : {std::pair{from, to}, std::pair{to, from}}) {
                hca.modify_qp(*qp, QpState::init, to_init_rc());
                hca.modify_qp(*qp, QpState::rtr, to_rtr_rc(peer->number()));
                hca.modify_qp(*qp, QpState::rts, to_rts_rc(rnr_retry));
            }
            senders.push_back(from);
            receivers.push_back(to);
        }
    }
    int post(std::uint64_t id)
    {
        const std::vector<Sge> sges = {bob.sge(0, 100)};
        return hca.post_receive(*srq, {id, sges});
    }
    void send(std::size_t sender)
    {
        ASSERT_EQ(hca.post_send(*senders[sender], request(SendOpcode::send, {alice.sge(0, 8)}, bob, 0)), 0);
    }

    std::shared_ptr<SharedReceiveQueue> srq;
    std::vector<std::shared_ptr<QueuePair>> senders;
    std::vector<std::shared_ptr<QueuePair>> receivers;
};

} // namespace

TEST_F(SharedReceives, ServeWhoeverComesFirst)
{
    connect_shared();
    ASSERT_EQ(post(1), 0);
    ASSERT_EQ(post(2), 0);
    EXPECT_EQ(hca.post_receive(*receivers[0], {}), EINVAL) << "it has no queue of its own";
    send(1);
    send(0);
    const auto received = completions(bob);
    ASSERT_EQ(received.size(), 2u);
    EXPECT_EQ(received[0].id, 1u);
    EXPECT_EQ(received[0].qpn, receivers[1]->number());
    EXPECT_EQ(received[1].qpn, receivers[0]->number());
    EXPECT_EQ(srq->size(), 0u);
}

TEST_F(SharedReceives, LetAllWaitingSendersGoOn)
{
    connect_shared();
    send(0);
    send(1);
    EXPECT_TRUE(completions(alice).empty());
    ASSERT_EQ(post(1), 0);
    EXPECT_EQ(completions(alice).size(), 1u);
    ASSERT_EQ(post(2), 0);
    EXPECT_EQ(completions(alice).size(), 1u);
}

TEST_F(SharedReceives, PostedJustBeforeASenderWaitsAreNotMissed)
{
    connect_shared();
    // The clock is read when the send has found no receive and is not known to wait yet.
    bool posted = false;
    before_now = [this, &posted] {
        if (std::exchange(posted, true))
            return;
        ASSERT_EQ(post(1), 0);
    };
    send(0);
    EXPECT_EQ(alice.cq->size(), 1u) << "though nobody polls";
}

TEST_F(SharedReceives, SayOnceThatTheyRunLow)
{
    connect_shared();
    for (std::uint64_t id = 0; id < 4; ++id)
        ASSERT_EQ(post(id), 0);
    srq->arm_limit(3);
    send(0);
    EXPECT_TRUE(events.empty());
    send(0);
    const std::vector<Event> low = {{EventType::srq_limit_reached, srq->number()}};
    EXPECT_EQ(events, low);
    EXPECT_EQ(srq->limit(), 0u);
    send(0);
    EXPECT_EQ(events, low);
}

TEST_F(SharedReceives, OutliveAQueuePair)
{
    connect_shared();
    ASSERT_EQ(post(1), 0);
    hca.modify_qp(*receivers[0], QpState::err);
    EXPECT_EQ(events, (std::vector<Event>{{EventType::qp_last_wqe_reached, receivers[0]->number()}}));
    EXPECT_TRUE(completions(bob).empty());
    EXPECT_EQ(srq->size(), 1u);
    send(1);
    EXPECT_EQ(completions(bob).size(), 1u);
}

TEST_F(SharedReceives, BelongToTheirOwnDomain)
{
    connect_shared();
    const Pd other = hca.alloc_pd();
    const Mkey foreign = hca.create_mkey(bob.pages.spec(other, KeyRights::local_write));
    const std::vector<Sge> sges = {{Iova{bob.pages.start}, 100, LKey{foreign.value}}};
    ASSERT_EQ(hca.post_receive(*srq, {1, sges}), 0);
    send(0);
    EXPECT_EQ(only_status(alice), WcStatus::remote_operation_error);
    EXPECT_EQ(only_status(bob), WcStatus::local_protection_error);
}

TEST_F(SharedReceives, HaveLimits)
{
    connect_shared();
    for (std::uint64_t id = 0; id < 8; ++id)
        ASSERT_EQ(post(id), 0);
    EXPECT_EQ(post(9), ENOMEM);
    const std::vector<Sge> three(3, bob.sge(0, 1));
    EXPECT_EQ(hca.post_receive(*srq, {1, three}), EINVAL);
}
