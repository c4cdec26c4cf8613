// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Pipelining: fences, the number of reads at once, draining, and the end of a link.
#include "linked.hpp"

using namespace mrz;
using namespace mrz::hca;

namespace {

class WireOrder : public LinkedTest {
  protected:
    void SetUp() override { connect(); }

    using Statuses = std::vector<WcStatus>;
    static Statuses statuses(End& end)
    {
        Statuses result;
        for (const Completion& completion : end.completions())
            result.push_back(completion.status);
        return result;
    }
};

} // namespace

TEST_F(WireOrder, AFencedRequestWaitsForReadsBeforeIt)
{
    ASSERT_EQ(near.post(SendOpcode::rdma_read, near.sge(0, 100), far, 0, 1), 0);
    // Without the fence it would be sent with what the read brings back not there yet.
    ASSERT_EQ(
        near.post(SendOpcode::rdma_write, near.sge(0, 100), far, 5000, 2, SendFlags::signaled | SendFlags::fence), 0);
    const auto read = far.bytes();
    settle();
    EXPECT_EQ(statuses(near), (Statuses{WcStatus::success, WcStatus::success}));
    const auto written = far.bytes();
    EXPECT_TRUE(std::equal(read.begin(), read.begin() + 100, written.begin() + 5000));
}

TEST_F(WireOrder, NoMoreReadsAreUnderWayThanThePeerTakes)
{
    far.hca.modify_qp(*far.qp, QpState::reset);
    far.hca.modify_qp(*far.qp, QpState::init, to_init_rc(all_rights));
    QpAttributes attributes = to_rtr_rc(near.qp->number());
    attributes.link = far.link;
    attributes.max_dest_rd_atomic = 1;
    far.hca.modify_qp(*far.qp, QpState::rtr, attributes);
    for (std::uint64_t id = 0; id < 3; ++id)
        ASSERT_EQ(near.post(SendOpcode::rdma_read, near.sge(0, 3'000'000), far, 0, id), 0);
    settle();
    EXPECT_EQ(statuses(near),
              (Statuses{WcStatus::success, WcStatus::remote_invalid_request_error, WcStatus::flush_error}))
        << "a requester that asks for 16 at once of one that takes 1";
}

TEST_F(WireOrder, WhatWasSentIsAnsweredWhileDraining)
{
    ASSERT_EQ(near.post(SendOpcode::rdma_write, near.sge(0, 3'000'000), far, 0, 1), 0);
    ASSERT_EQ(near.post(SendOpcode::rdma_write, near.sge(0, 8), far, 0, 2), 0);
    near.hca.modify_qp(*near.qp, QpState::sqd, {.sq_drained_event = true});
    EXPECT_TRUE(near.events.empty());
    settle();
    EXPECT_EQ(statuses(near), Statuses{WcStatus::success}) << "the first, which had begun";
    EXPECT_EQ(near.events, (std::vector<Event>{{EventType::sq_drained, near.qp->number()}}));
    near.hca.modify_qp(*near.qp, QpState::rts);
    settle();
    EXPECT_EQ(statuses(near), Statuses{WcStatus::success});
}

TEST_F(WireOrder, ALostLinkEndsTheFirstAndFlushesTheRest)
{
    ASSERT_EQ(near.receive(near.sge(0, 8), 50), 0);
    for (std::uint64_t id = 0; id < 5; ++id)
        ASSERT_EQ(near.post(SendOpcode::rdma_write, near.sge(0, 1'000'000), far, 0, id), 0);
    near.link->lost();
    settle();
    EXPECT_EQ(statuses(near), (Statuses{WcStatus::retry_exceeded_error, WcStatus::flush_error, WcStatus::flush_error,
                                        WcStatus::flush_error, WcStatus::flush_error, WcStatus::flush_error}));
    EXPECT_TRUE(near.link->ended());
    EXPECT_EQ(near.qp->state(), QpState::err);
    EXPECT_EQ(near.post(SendOpcode::rdma_write, near.sge(0, 8), far, 0), 0);
    EXPECT_EQ(statuses(near), Statuses{WcStatus::flush_error});
}

TEST_F(WireOrder, WhatIsAskedAndNotAnsweredIsFlushedWithTheRest)
{
    ASSERT_EQ(near.post(SendOpcode::rdma_read, near.sge(0, 8), far, 0, 1), 0);
    ASSERT_EQ(near.post(SendOpcode::rdma_write, near.sge(0, 8), far, 0, 2), 0);
    near.hca.modify_qp(*near.qp, QpState::err);
    EXPECT_EQ(statuses(near), (Statuses{WcStatus::flush_error, WcStatus::flush_error}));
    settle(); // its answers find nobody
    EXPECT_EQ(statuses(near), Statuses{});
}

TEST_F(WireOrder, WhatIsAskedAndNotAnsweredIsFlushedWhenThePeersRequestFails)
{
    ASSERT_EQ(near.post(SendOpcode::rdma_read, near.sge(0, 8), far, 0, 1), 0);
    ASSERT_EQ(far.post(SendOpcode::rdma_write, far.sge(0, 8), near, region_bytes, 2), 0); // beyond the region
    near.hca.progress(*near.link);
    EXPECT_EQ(near.qp->state(), QpState::err);
    EXPECT_EQ(statuses(near), Statuses{WcStatus::flush_error});
    settle();
    EXPECT_EQ(statuses(far), Statuses{WcStatus::remote_access_error});
}

TEST_F(WireOrder, WhatTheOtherSideHadWrittenBeforeItsEndCounts)
{
    ASSERT_EQ(far.receive(far.sge(0, 8), 50), 0);
    ASSERT_EQ(near.post(SendOpcode::send, near.sge(0, 8), far, 0, 1), 0);
    near.link->close("enough");
    near.hca.progress(*near.link);
    far.link->hear();
    EXPECT_FALSE(far.link->open());
    EXPECT_EQ(far.link->why(), "the peer has hung up: enough");
    settle();
    EXPECT_EQ(statuses(far), Statuses{WcStatus::success});
    EXPECT_EQ(far.qp->state(), QpState::err);
}

TEST_F(WireOrder, AMessageThatIsHalfThereFlushesItsReceiveFirst)
{
    ASSERT_EQ(far.receive(far.sge(0, 3'000'000), 50), 0);
    ASSERT_EQ(far.receive(far.sge(0, 8), 51), 0);
    ASSERT_EQ(near.post(SendOpcode::send, near.sge(0, 3'000'000), far, 0, 1), 0);
    far.hca.progress(*far.link);
    far.link->lost();
    while (far.hca.progress(*far.link)) {
    }
    const auto all = far.completions();
    ASSERT_EQ(all.size(), 2u);
    EXPECT_EQ(all[0].id, 50u);
    EXPECT_EQ(all[0].status, WcStatus::flush_error);
    EXPECT_EQ(all[1].id, 51u);
}

TEST_F(WireOrder, AQueuePairThatIsConnectedOverADeadLinkFailsAtItsFirstRequest)
{
    far.link->lost();
    far.hca.progress(*far.link);
    near.link->lost();
    near.hca.progress(*near.link);
    near.hca.modify_qp(*near.qp, QpState::reset);
    near.hca.modify_qp(*near.qp, QpState::init, to_init_rc(all_rights));
    near.connect(far.qp->number());
    ASSERT_EQ(near.post(SendOpcode::rdma_write, near.sge(0, 8), far, 0), 0);
    EXPECT_EQ(statuses(near), Statuses{WcStatus::retry_exceeded_error});
}

TEST_F(WireOrder, SilentWorkIsReleasedByTheNextCompletion)
{
    for (int round = 0; round < 10; ++round) {
        for (int i = 0; i < 63; ++i)
            ASSERT_EQ(near.post(SendOpcode::rdma_write, near.sge(0, 8), far, 0, 1, SendFlags::none), 0);
        ASSERT_EQ(near.post(SendOpcode::rdma_write, near.sge(0, 8), far, 0, 2), 0);
        settle();
        EXPECT_EQ(near.completions().size(), 1u);
    }
}

TEST_F(WireOrder, SeveralQueuePairsShareALink)
{
    std::vector<std::shared_ptr<QueuePair>> near_qps{near.qp};
    std::vector<std::shared_ptr<QueuePair>> far_qps{far.qp};
    for (int i = 0; i < 3; ++i) {
        connect();
        near_qps.push_back(near.qp);
        far_qps.push_back(far.qp);
    }
    for (std::uint64_t id = 0; id < 40; ++id) {
        near.qp = near_qps[id % 4];
        ASSERT_EQ(near.post(id % 3 == 0 ? SendOpcode::rdma_read : SendOpcode::rdma_write,
                            near.sge(id * 1000, 200'000), far, id * 2000, id),
                  0);
    }
    settle();
    const auto all = near.completions();
    EXPECT_EQ(all.size(), 40u);
    for (const Completion& completion : all)
        EXPECT_EQ(completion.status, WcStatus::success);
}

TEST_F(WireOrder, AResetQueuePairBeginsANewWithThePeersNumber)
{
    ASSERT_EQ(near.post(SendOpcode::rdma_write, near.sge(0, 8), far, 0), 0);
    settle();
    for (End* end : {&near, &far}) {
        end->hca.modify_qp(*end->qp, QpState::reset);
        end->hca.modify_qp(*end->qp, QpState::init, to_init_rc(all_rights));
        QpAttributes attributes = to_rtr_rc((end == &near ? far : near).qp->number());
        attributes.link = end->link;
        attributes.receive_psn = 0xffff'fffe;
        end->hca.modify_qp(*end->qp, QpState::rtr, attributes);
        QpAttributes ready = to_rts_rc();
        ready.send_psn = 0xffff'fffe;
        end->hca.modify_qp(*end->qp, QpState::rts, ready);
    }
    for (int i = 0; i < 5; ++i) // over the end of 32 bits
        ASSERT_EQ(near.post(SendOpcode::rdma_write, near.sge(0, 8), far, 0), 0);
    settle();
    EXPECT_EQ(statuses(near), Statuses(5, WcStatus::success));
}

TEST_F(WireOrder, QueuePairsThatDoNotAgreeOnNumbersTryAsOftenAsTheyMay)
{
    far.hca.modify_qp(*far.qp, QpState::reset);
    far.hca.modify_qp(*far.qp, QpState::init, to_init_rc(all_rights));
    QpAttributes attributes = to_rtr_rc(near.qp->number());
    attributes.link = far.link;
    attributes.receive_psn = 1000;
    far.hca.modify_qp(*far.qp, QpState::rtr, attributes);
    const auto before = far.bytes();
    for (std::uint64_t id = 0; id < 2; ++id)
        ASSERT_EQ(near.post(SendOpcode::rdma_write, near.sge(0, 100'000), far, 0, id), 0);
    settle();
    int tries = 1;
    for (; near.qp->state() == QpState::rts; ++tries) {
        ASSERT_TRUE(near.hca.next_link_deadline());
        near.now = *near.hca.next_link_deadline();
        near.hca.progress();
        settle();
    }
    EXPECT_EQ(tries, 9) << "retry_count is 7, and silence is known as such when the last one's time is over";
    EXPECT_EQ(statuses(near), (Statuses{WcStatus::retry_exceeded_error, WcStatus::flush_error}));
    EXPECT_TRUE(far.bytes() == before);
}

TEST_F(WireOrder, APeerThatBeganAnewTakesNothingOfWhatWasBefore)
{
    ASSERT_EQ(near.post(SendOpcode::rdma_write, near.sge(0, 8), far, 0), 0);
    settle();
    EXPECT_EQ(statuses(near), Statuses{WcStatus::success});
    far.hca.modify_qp(*far.qp, QpState::reset);
    far.hca.modify_qp(*far.qp, QpState::init, to_init_rc(all_rights));
    QpAttributes attributes = to_rtr_rc(near.qp->number());
    attributes.link = far.link;
    far.hca.modify_qp(*far.qp, QpState::rtr, attributes);
    ASSERT_EQ(near.post(SendOpcode::rdma_write, near.sge(0, 8), far, 0), 0);
    settle();
    EXPECT_TRUE(near.hca.next_link_deadline()) << "it tries again, and does not wait for ever";
}

TEST_F(WireOrder, EveryOneOfManyWhoAskNobodyIsTold)
{
    std::vector<std::shared_ptr<QueuePair>> all;
    for (int i = 0; i < 1000; ++i) {
        near.make_qp(1);
        near.connect(0xabcdef);
        all.push_back(near.qp);
        ASSERT_EQ(near.post(SendOpcode::rdma_write, near.sge(0, 8), far, 0), 0);
    }
    settle();
    for (const auto& qp : all)
        ASSERT_EQ(qp->state(), QpState::err);
}

namespace {

class WireOutlived : public testing::Test {
  protected:
    static HcaOptions options()
    {
        HcaOptions result;
        result.idle_outlive_links = true;
        return result;
    }
    End near{1, 1 << 20, options()};
};

} // namespace

TEST_F(WireOutlived, WhoAsksNothingWhenALinkEndsFailsWithItsNextRequest)
{
    auto [near_wire, far_wire] = make_wires();
    near.link = std::make_shared<Link>(std::move(near_wire));
    near.make_qp();
    near.connect(0x123);
    ASSERT_EQ(near.receive(near.sge(0, 8), 50), 0);
    near.link->lost();
    while (near.hca.progress(*near.link)) {
    }
    EXPECT_TRUE(near.link->ended());
    EXPECT_EQ(near.qp->state(), QpState::rts);
    EXPECT_TRUE(near.completions().empty());
    ASSERT_EQ(near.post(SendOpcode::rdma_write, near.sge(0, 8), near, 0, 1), 0);
    const std::vector<Completion> all = near.completions();
    ASSERT_EQ(all.size(), 2u);
    EXPECT_EQ(all[0].status, WcStatus::retry_exceeded_error);
    EXPECT_EQ(all[1].status, WcStatus::flush_error) << "the receive";
}
