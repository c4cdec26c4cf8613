// SPDX-License-Identifier: BSD-3-Clause
#include "engine.hpp"

#include <cerrno>
#include <deque>
#include <utility>

using namespace mrz;
using namespace mrz::hca;

namespace {

//! Receives as they would lie in a driver's memory.
class List final : public ReceiveSource {
  public:
    Popped take(ReceiveWork& work) override
    {
        if (works.empty())
            return Popped::nothing;
        work = works.front();
        works.pop_front();
        return works.size() < limit ? Popped::work_and_limit : Popped::work;
    }
    void reset() noexcept override { ++resets; }

    std::deque<ReceiveWork> works;
    std::size_t limit = 0;
    int resets = 0;
};

class ReceiveSources : public EngineTest {
  protected:
    void connect_to_source()
    {
        alice.qp = hca.create_qp(rc_options(alice));
        QpOptions options = rc_options(bob);
        options.receive_source = list;
        bob.qp = hca.create_qp(options);
        for (Side* side : {&alice, &bob}) {
            hca.modify_qp(*side->qp, QpState::init, to_init_rc());
            hca.modify_qp(*side->qp, QpState::rtr, to_rtr_rc((side == &alice ? bob : alice).qp->number()));
            hca.modify_qp(*side->qp, QpState::rts, to_rts_rc(7));
        }
    }
    void send(SendFlags flags = SendFlags::none)
    {
        SendWorkRequest work = request(SendOpcode::send, sges, bob, 0);
        work.flags = flags;
        ASSERT_EQ(hca.post_send(*alice.qp, work), 0);
    }
    void add(std::uint64_t id) { list->works.push_back({id, {bob.sge(0, 100)}}); }

    std::shared_ptr<List> list = std::make_shared<List>();
    std::vector<Sge> sges = {alice.sge(0, 8)};
};

} // namespace

TEST_F(ReceiveSources, AreAskedWhenAMessageNeedsOne)
{
    connect_to_source();
    add(7);
    EXPECT_EQ(list->works.size(), 1u);
    send(SendFlags::solicited);
    EXPECT_TRUE(list->works.empty());
    const auto received = completions(bob);
    ASSERT_EQ(received.size(), 1u);
    EXPECT_EQ(received[0].id, 7u);
    EXPECT_TRUE(received[0].solicited);
    EXPECT_EQ(hca.post_receive(*bob.qp, {}), EINVAL) << "nothing is posted where there is a source";
}

TEST_F(ReceiveSources, AreAskedAgainByTheSendersTimerOrWhenSomebodyTells)
{
    connect_to_source();
    send();
    EXPECT_TRUE(completions(bob).empty());
    add(1);
    EXPECT_TRUE(completions(bob).empty()) << "nobody has told, and it is not time yet";
    hca.receives_added(*bob.qp);
    EXPECT_EQ(completions(bob).size(), 1u);
    send();
    add(2);
    now = *hca.next_deadline();
    EXPECT_EQ(completions(bob).size(), 1u);
}

TEST_F(ReceiveSources, AreEmptiedWhenTheirQueuePairFails)
{
    connect_to_source();
    add(1);
    add(2);
    hca.modify_qp(*bob.qp, QpState::err);
    EXPECT_EQ(completions(bob).size(), 2u);
    add(3);
    hca.receives_added(*bob.qp);
    const auto flushed = completions(bob);
    ASSERT_EQ(flushed.size(), 1u);
    EXPECT_EQ(flushed[0].status, WcStatus::flush_error);
    EXPECT_EQ(flushed[0].id, 3u);
    const int before = list->resets;
    hca.modify_qp(*bob.qp, QpState::reset);
    EXPECT_EQ(list->resets, before + 1);
}

TEST_F(ReceiveSources, OfASharedQueueTellWhenFewAreLeft)
{
    const auto srq = hca.create_srq({.pd = pd, .max_work_requests = 1, .max_sges = 4, .limit = 0, .source = list});
    alice.qp = hca.create_qp(rc_options(alice));
    QpOptions options = rc_options(bob);
    options.srq = srq;
    bob.qp = hca.create_qp(options);
    for (const auto& [qp, peer] : {std::pair{alice.qp, bob.qp}, std::pair{bob.qp, alice.qp}}) {
        hca.modify_qp(*qp, QpState::init, to_init_rc());
        hca.modify_qp(*qp, QpState::rtr, to_rtr_rc(peer->number()));
        hca.modify_qp(*qp, QpState::rts, to_rts_rc(7));
    }
    add(1);
    list->limit = 1;
    send();
    EXPECT_EQ(events, (std::vector<Event>{{EventType::srq_limit_reached, srq->number()}}));
    list->limit = 0;
    send();
    add(2);
    hca.receives_added(*srq);
    EXPECT_EQ(completions(bob).size(), 2u);
}

TEST_F(ReceiveSources, ALocalKeyIsReadAsASenderWouldReadIt)
{
    std::vector<std::byte> into(5000);
    EXPECT_EQ(hca.read_local(pd, alice.sge(10, 5000), into), WcStatus::success);
    const auto all = bytes(alice);
    EXPECT_TRUE(std::equal(into.begin(), into.end(), all.begin() + 10));
    EXPECT_EQ(hca.read_local(pd, {Iova{alice.pages.start}, 8, LKey{alice.rkey.value}}, into),
              WcStatus::local_protection_error);
    EXPECT_EQ(hca.read_local(hca.alloc_pd(), alice.sge(0, 8), into), WcStatus::local_protection_error);
}
