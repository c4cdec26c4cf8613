// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! What is refused over a wire, and what becomes of the requests around it.
#include "linked.hpp"

#include <chrono>
#include <cstring>

using namespace mrz;
using namespace mrz::hca;
using namespace std::chrono_literals;

namespace {

class WireRefusals : public LinkedTest {
  protected:
    std::vector<WcStatus> statuses(End& end)
    {
        std::vector<WcStatus> result;
        for (const Completion& completion : end.completions())
            result.push_back(completion.status);
        return result;
    }
    //! Posts an operation with a key and address of its own.
    void post(SendOpcode opcode, std::uint32_t length, Iova at, RKey rkey, std::uint64_t id = 1)
    {
        const Sge sge = near.sge(0, length);
        SendWorkRequest work;
        work.id = id;
        work.opcode = opcode;
        work.flags = SendFlags::signaled;
        work.sges = {&sge, 1};
        work.remote_address = at;
        work.rkey = rkey;
        ASSERT_EQ(near.hca.post_send(*near.qp, work), 0);
    }
    [[nodiscard]] Iova far_start() const { return Iova{far.pages.start}; }
    [[nodiscard]] RKey far_rkey() const { return RKey{far.rkey.value}; }
};

using Statuses = std::vector<WcStatus>;

} // namespace

TEST_F(WireRefusals, AKeyThatIsNoneMovesNothing)
{
    for (const SendOpcode opcode : {SendOpcode::rdma_write, SendOpcode::rdma_read, SendOpcode::fetch_and_add}) {
        connect();
        const auto far_before = far.bytes();
        const auto near_before = near.bytes();
        const Iova aligned{(far.pages.start + 7) / 8 * 8};
        post(opcode, is_atomic(opcode) ? 8 : 100'000, aligned, RKey{far_rkey().value ^ 1});
        settle();
        EXPECT_EQ(statuses(near), Statuses{WcStatus::remote_access_error});
        EXPECT_EQ(near.qp->state(), QpState::err);
        EXPECT_EQ(far.qp->state(), QpState::err);
        EXPECT_TRUE(far.bytes() == far_before);
        EXPECT_TRUE(near.bytes() == near_before);
        EXPECT_EQ(far.events, (std::vector<Event>{{EventType::qp_access_error, far.qp->number()}}));
        far.events.clear();
    }
}

TEST_F(WireRefusals, ALargeWriteWhoseLastByteIsOutOfBoundsMovesNothing)
{
    connect();
    const auto before = far.bytes();
    post(SendOpcode::rdma_write, 1'000'000, far_start() + (region_bytes - 999'999), far_rkey());
    settle();
    EXPECT_EQ(statuses(near), Statuses{WcStatus::remote_access_error});
    EXPECT_TRUE(far.bytes() == before);
}

TEST_F(WireRefusals, WhatWasBeforeSucceedsAndWhatComesAfterIsFlushed)
{
    connect();
    const auto before = far.bytes();
    post(SendOpcode::rdma_read, 300'000, far_start(), far_rkey(), 1);
    post(SendOpcode::rdma_write, 10, far_start(), far_rkey(), 2);
    post(SendOpcode::rdma_write, 10, far_start(), RKey{77}, 3);
    post(SendOpcode::rdma_write, 10, far_start() + 1000, far_rkey(), 4);
    settle();
    EXPECT_EQ(statuses(near),
              (Statuses{WcStatus::success, WcStatus::success, WcStatus::remote_access_error, WcStatus::flush_error}));
    EXPECT_TRUE(std::equal(before.begin() + 1000, before.end(), far.bytes().begin() + 1000));
}

TEST_F(WireRefusals, ALocalErrorComesAfterTheSuccessOfWhatWasBefore)
{
    connect();
    post(SendOpcode::rdma_write, 100'000, far_start(), far_rkey(), 1);
    const Sge nowhere{Iova{1}, 8, LKey{near.lkey.value}};
    ASSERT_EQ(near.post(SendOpcode::rdma_write, nowhere, far, 0, 2), 0);
    post(SendOpcode::rdma_write, 10, far_start(), far_rkey(), 3);
    settle();
    EXPECT_EQ(statuses(near), (Statuses{WcStatus::success, WcStatus::local_protection_error, WcStatus::flush_error}));
    EXPECT_EQ(far.qp->state(), QpState::rts) << "knows nothing of it";
}

TEST_F(WireRefusals, AReissuedKeyIsRefusedAtOnceUnderItsOldValue)
{
    connect();
    const Mkey again = far.hca.reissue_mkey(far.rkey);
    EXPECT_EQ(index_of(again), index_of(far.rkey));
    EXPECT_NE(variant_of(again), variant_of(far.rkey));
    post(SendOpcode::rdma_write, 8, far_start(), RKey{again.value});
    settle();
    EXPECT_EQ(statuses(near), Statuses{WcStatus::success});
    post(SendOpcode::rdma_write, 8, far_start(), far_rkey());
    settle();
    EXPECT_EQ(statuses(near), Statuses{WcStatus::remote_access_error});
}

TEST_F(WireRefusals, AKeyThatGoesInTheMiddleOfAMessageEndsIt)
{
    for (const SendOpcode opcode : {SendOpcode::rdma_write, SendOpcode::rdma_read}) {
        connect();
        post(opcode, 4'000'000, far_start(), far_rkey());
        far.hca.progress(*far.link);
        near.hca.progress(*near.link);
        EXPECT_TRUE(near.completions().empty()) << "in the middle of it";
        const Mkey again = far.hca.reissue_mkey(far.rkey);
        const auto before = far.bytes();
        settle();
        EXPECT_EQ(statuses(near), Statuses{WcStatus::remote_access_error});
        EXPECT_TRUE(far.bytes() == before);
        far.rkey = again;
        far.events.clear();
    }
}

TEST_F(WireRefusals, AMessageLargerThanItsReceiveFailsBoth)
{
    connect();
    ASSERT_EQ(far.receive(far.sge(0, 99'999), 5), 0);
    const auto before = far.bytes();
    post(SendOpcode::send, 100'000, {}, {});
    settle();
    EXPECT_EQ(statuses(near), Statuses{WcStatus::remote_invalid_request_error});
    EXPECT_EQ(statuses(far), Statuses{WcStatus::local_length_error});
    EXPECT_TRUE(far.bytes() == before);
}

TEST_F(WireRefusals, ASenderWithoutEndWaitsForAReceiveWithoutATimer)
{
    connect();
    const auto before = far.bytes();
    post(SendOpcode::send, 100'000, {}, {}, 1);
    post(SendOpcode::rdma_write, 8, far_start() + 2'000'000, far_rkey(), 2);
    settle();
    EXPECT_TRUE(near.completions().empty());
    EXPECT_TRUE(far.bytes() == before) << "what comes behind it waits, too";
    EXPECT_FALSE(near.hca.next_link_deadline());
    EXPECT_EQ(near.hca.counters().receiver_not_ready, 1u);
    ASSERT_EQ(far.receive(far.sge(0, 100'000)), 0);
    settle();
    EXPECT_EQ(statuses(near), (Statuses{WcStatus::success, WcStatus::success}));
    EXPECT_EQ(near.hca.counters().receiver_not_ready, 1u);
}

TEST_F(WireRefusals, RetriesForWantOfAReceiveAreCountedAndTimed)
{
    connect(2);
    post(SendOpcode::send, 100'000, {}, {});
    settle();
    EXPECT_EQ(near.hca.next_link_deadline(), near.now + 10us);
    near.now += 9us;
    near.hca.progress();
    settle();
    EXPECT_EQ(near.hca.counters().receiver_not_ready, 1u);
    for (int i = 0; i < 2; ++i) {
        EXPECT_TRUE(near.completions().empty());
        near.now += 10us;
        near.hca.progress();
        settle();
    }
    EXPECT_EQ(near.hca.counters().receiver_not_ready, 3u);
    EXPECT_EQ(statuses(near), Statuses{WcStatus::rnr_retry_exceeded_error});
    EXPECT_EQ(far.qp->state(), QpState::rts);
    EXPECT_FALSE(near.hca.next_link_deadline());
}

TEST_F(WireRefusals, WithoutRetriesTheFirstRefusalIsTheLast)
{
    connect(0);
    post(SendOpcode::send, 8, {}, {});
    settle();
    EXPECT_EQ(statuses(near), Statuses{WcStatus::rnr_retry_exceeded_error});
}

TEST_F(WireRefusals, AReceiveThatIsPostedMeanwhileSavesATry)
{
    connect(1);
    post(SendOpcode::send, 8, {}, {}, 1);
    post(SendOpcode::send, 8, {}, {}, 2);
    settle();
    ASSERT_EQ(far.receive(far.sge(0, 8)), 0);
    settle();
    EXPECT_EQ(statuses(near), Statuses{WcStatus::success});
    EXPECT_EQ(near.qp->state(), QpState::rts) << "the second waits, with its own tries";
    ASSERT_EQ(far.receive(far.sge(0, 8)), 0);
    settle();
    EXPECT_EQ(statuses(near), Statuses{WcStatus::success});
}

TEST_F(WireRefusals, AtomicsBehindARefusedSendAreDoneOnce)
{
    connect();
    const std::uint64_t aligned = 8 - far.pages.start % 8;
    std::uint64_t was = 0;
    std::memcpy(&was, far.bytes().data() + aligned, sizeof was);
    post(SendOpcode::fetch_and_add, 8, far_start() + aligned, far_rkey(), 1);
    post(SendOpcode::send, 8, {}, {}, 2);
    ASSERT_EQ(near.post(SendOpcode::fetch_and_add, near.sge(0, 8), far, aligned, 3), 0);
    settle();
    ASSERT_EQ(far.receive(far.sge(1000, 8)), 0);
    settle();
    EXPECT_EQ(near.completions().size(), 3u);
    std::uint64_t is = 0;
    std::memcpy(&is, far.bytes().data() + aligned, sizeof is);
    EXPECT_EQ(is, was + 1) << "the first adds nothing, the third one";
}

TEST_F(WireRefusals, AReceiveOfASharedQueueLetsAStarvedPeerGoOn)
{
    far.srq = far.hca.create_srq({.pd = far.pd, .max_work_requests = 16, .max_sges = 4});
    connect();
    post(SendOpcode::send, 8, {}, {});
    settle();
    EXPECT_TRUE(near.completions().empty());
    ASSERT_EQ(far.receive(far.sge(0, 8)), 0);
    settle();
    EXPECT_EQ(statuses(near), Statuses{WcStatus::success});
    far.hca.destroy_qp(far.qp);
}

TEST_F(WireRefusals, APeerThatIsNotReadyIsAskedAgain)
{
    near.make_qp();
    far.make_qp();
    near.connect(far.qp->number());
    post(SendOpcode::rdma_write, 8, far_start(), far_rkey());
    settle();
    EXPECT_TRUE(near.completions().empty());
    ASSERT_TRUE(near.hca.next_link_deadline());
    far.connect(near.qp->number());
    near.now = *near.hca.next_link_deadline();
    near.hca.progress();
    settle();
    EXPECT_EQ(statuses(near), Statuses{WcStatus::success});
}

TEST_F(WireRefusals, APeerThatNeverGetsReadyIsGivenUp)
{
    near.make_qp();
    far.make_qp();
    near.connect(far.qp->number());
    post(SendOpcode::rdma_write, 8, far_start(), far_rkey());
    settle();
    int tries = 0;
    for (; near.hca.next_link_deadline() && tries < 100; ++tries) {
        near.now = *near.hca.next_link_deadline();
        near.hca.progress();
        settle();
    }
    EXPECT_EQ(statuses(near), Statuses{WcStatus::retry_exceeded_error});
    EXPECT_EQ(tries, 8);
}

TEST_F(WireRefusals, APeerThatHasGoneIsKnownAtOnce)
{
    connect();
    far.hca.destroy_qp(far.qp);
    post(SendOpcode::rdma_write, 8, far_start(), far_rkey(), 1);
    post(SendOpcode::rdma_write, 8, far_start(), far_rkey(), 2);
    settle();
    EXPECT_EQ(statuses(near), (Statuses{WcStatus::retry_exceeded_error, WcStatus::flush_error}));
    EXPECT_TRUE(near.link->open()) << "others may use it";
}

TEST_F(WireRefusals, WhatADestroyedPeerLeftUnansweredEnds)
{
    connect();
    post(SendOpcode::rdma_read, 3'000'000, far_start(), far_rkey(), 1);
    far.hca.progress(*far.link);
    far.hca.destroy_qp(far.qp);
    settle();
    EXPECT_EQ(statuses(near), Statuses{WcStatus::retry_exceeded_error});
}

TEST_F(WireRefusals, AFailedPeerReadsNothingMore)
{
    connect();
    post(SendOpcode::rdma_read, 3'000'000, far_start(), far_rkey(), 1);
    far.hca.progress(*far.link);
    far.hca.modify_qp(*far.qp, QpState::err);
    settle();
    EXPECT_EQ(statuses(near), Statuses{WcStatus::retry_exceeded_error});
}

TEST_F(WireRefusals, RightsOfTheQueuePairCountToo)
{
    connect();
    far.hca.modify_qp(*far.qp, QpState::rts, {.access = KeyRights::remote_read});
    post(SendOpcode::rdma_write, 8, far_start(), far_rkey());
    settle();
    EXPECT_EQ(statuses(near), Statuses{WcStatus::remote_invalid_request_error});
}

TEST_F(WireRefusals, AQueuePairOfTheSameEngineIsNobodyToThePeer)
{
    connect();
    near.hca.modify_qp(*near.qp, QpState::reset);
    near.hca.modify_qp(*near.qp, QpState::init, to_init_rc(all_rights));
    // far's queue pair answers near's number over the link, not within its own engine, and the other way round.
    auto other = far.hca.create_qp({.type = QpType::rc, .pd = far.pd, .send_cq = far.cq, .receive_cq = far.cq});
    far.hca.modify_qp(*other, QpState::init, to_init_rc(all_rights));
    far.hca.modify_qp(*other, QpState::rtr, to_rtr_rc(far.qp->number()));
    far.hca.modify_qp(*other, QpState::rts, to_rts_rc());
    near.connect(other->number());
    post(SendOpcode::rdma_write, 8, far_start(), far_rkey());
    settle();
    EXPECT_EQ(statuses(near), Statuses{WcStatus::retry_exceeded_error});
    EXPECT_EQ(other->state(), QpState::rts);
}
