// SPDX-License-Identifier: BSD-3-Clause
#include "engine.hpp"

#include <cerrno>

using namespace mrz;
using namespace mrz::hca;

namespace {

class CompletionQueues : public EngineTest {
  protected:
    // Gives alice and bob queues whose notifications are noted.
    void connect_noting(std::uint32_t capacity = 256)
    {
        const auto note = [this](std::uint32_t number) { notified.push_back(number); };
        alice.cq = hca.create_cq({capacity, note});
        bob.cq = hca.create_cq({capacity, note});
        connect();
    }
    void write(SendOpcode opcode = SendOpcode::rdma_write, SendFlags more = SendFlags::none)
    {
        SendWorkRequest work = request(opcode, sges, bob, 0);
        work.flags = SendFlags::signaled | more;
        ASSERT_EQ(hca.post_send(*alice.qp, work), 0);
    }

    std::vector<Sge> sges{alice.sge(0, 8)};
    std::vector<std::uint32_t> notified;
};

} // namespace

TEST_F(CompletionQueues, NotifyOnceOfTheNextCompletion)
{
    connect_noting();
    write();
    EXPECT_TRUE(notified.empty());
    alice.cq->arm(Notify::next);
    EXPECT_TRUE(notified.empty()) << "what is there does not count";
    write();
    write();
    EXPECT_EQ(notified, std::vector{alice.cq->number()});
}

TEST_F(CompletionQueues, NotifyOfSolicitedOnesAndFailures)
{
    connect_noting();
    bob.cq->arm(Notify::solicited);
    receive(bob, {bob.sge(0, 8)});
    receive(bob, {bob.sge(0, 8)});
    write(SendOpcode::send);
    EXPECT_TRUE(notified.empty());
    write(SendOpcode::send, SendFlags::solicited);
    EXPECT_EQ(notified, std::vector{bob.cq->number()});
    bob.cq->arm(Notify::solicited);
    receive(bob, {});
    hca.modify_qp(*bob.qp, QpState::err);
    EXPECT_EQ(notified.size(), 2u);
}

TEST_F(CompletionQueues, WaitForTheNextEvenIfArmedForLessAfterwards)
{
    connect_noting();
    alice.cq->arm(Notify::next);
    alice.cq->arm(Notify::solicited);
    write();
    EXPECT_EQ(notified, std::vector{alice.cq->number()});
}

TEST_F(CompletionQueues, ACallbackMayUseTheEngine)
{
    int left = 5;
    alice.cq = hca.create_cq({16, [&](std::uint32_t) {
                                  if (left-- > 0) {
                                      (void)completions(alice);
                                      alice.cq->arm(Notify::next);
                                      hca.destroy_mkey(hca.create_free_mkey(pd));
                                      write();
                                  }
                              }});
    connect();
    alice.cq->arm(Notify::next);
    write();
    EXPECT_EQ(left, -1);
}

TEST_F(CompletionQueues, OverrunningFailsTheQueuePair)
{
    connect_noting(3);
    for (int i = 0; i < 3; ++i)
        write();
    EXPECT_FALSE(alice.cq->overrun());
    write();
    EXPECT_TRUE(alice.cq->overrun());
    EXPECT_EQ(alice.qp->state(), QpState::err);
    EXPECT_EQ(events, (std::vector<Event>{{EventType::cq_error, alice.cq->number()},
                                          {EventType::qp_fatal, alice.qp->number()}}));
    EXPECT_EQ(completions(alice).size(), 3u) << "what it holds is not lost";
    write();
    EXPECT_TRUE(completions(alice).empty()) << "and no more comes";
    EXPECT_EQ(bob.qp->state(), QpState::rts);
}

TEST_F(CompletionQueues, GrowAndShrink)
{
    connect_noting(2);
    write();
    write();
    EXPECT_THROW(alice.cq->resize(1), Error);
    alice.cq->resize(3);
    write();
    EXPECT_EQ(completions(alice).size(), 3u);
    EXPECT_THROW(alice.cq->resize(0), Error);
    alice.cq->resize(1);
    write();
    EXPECT_EQ(completions(alice).size(), 1u);
    EXPECT_EQ(alice.qp->state(), QpState::rts);
}

TEST_F(CompletionQueues, PollInPortions)
{
    connect_noting();
    for (int i = 0; i < 5; ++i)
        write();
    std::vector<Completion> two(2);
    EXPECT_EQ(hca.poll(*alice.cq, two), 2u);
    EXPECT_EQ(hca.poll(*alice.cq, {}), 0u);
    EXPECT_EQ(completions(alice).size(), 3u);
}
