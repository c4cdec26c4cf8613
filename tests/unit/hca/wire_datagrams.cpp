// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Datagrams over a link.
#include "linked.hpp"

#include <algorithm>
#include <cerrno>

using namespace mrz;
using namespace mrz::hca;

namespace {

constexpr std::uint32_t qkey = 0x1234;
constexpr std::uint16_t near_lid = 17;

class WireDatagrams : public LinkedTest {
  protected:
    WireDatagrams()
    {
        for (End* const end : {&near, &far}) {
            end->qp = end->hca.create_qp({.type = QpType::ud,
                                          .pd = end->pd,
                                          .send_cq = end->cq,
                                          .receive_cq = end->cq,
                                          .srq = {},
                                          .send = {.work_requests = 256, .sges = 4, .inline_bytes = 64},
                                          .receive = {.work_requests = 512, .sges = 4, .inline_bytes = 0},
                                          .signal_all = false});
            end->hca.modify_qp(*end->qp, QpState::init, {.qkey = qkey});
            end->hca.modify_qp(*end->qp, QpState::rtr);
            end->hca.modify_qp(*end->qp, QpState::rts, {.send_psn = 0});
        }
    }

    SendWorkRequest datagram(const Sge& sge, std::uint64_t id = 1)
    {
        SendWorkRequest work;
        work.id = id;
        work.opcode = SendOpcode::send_with_immediate;
        work.flags = SendFlags::signaled;
        work.sges = {&sge, 1};
        work.immediate = 0xabcd;
        work.link = near.link;
        work.source_lid = near_lid;
        work.remote_qpn = far.qp->number();
        work.remote_qkey = qkey;
        return work;
    }
    int send(std::uint64_t offset, std::uint32_t length, std::uint64_t id = 1)
    {
        const Sge sge = near.sge(offset, length);
        return near.hca.post_send(*near.qp, datagram(sge, id));
    }
};

} // namespace

TEST_F(WireDatagrams, ArriveBehindRoomForAHeader)
{
    const auto source = near.bytes();
    auto expected = far.bytes();
    ASSERT_EQ(far.receive(far.sge(0, 1000)), 0);
    ASSERT_EQ(send(100, 500), 0);
    EXPECT_EQ(only_status(near), WcStatus::success) << "nobody answers";
    settle();
    const std::vector<Completion> received = far.completions();
    ASSERT_EQ(received.size(), 1u);
    EXPECT_EQ(received[0].status, WcStatus::success);
    EXPECT_EQ(received[0].byte_length, 540u);
    EXPECT_EQ(received[0].immediate, 0xabcdu);
    EXPECT_EQ(received[0].source_qpn, near.qp->number());
    EXPECT_EQ(received[0].source_lid, near_lid);
    EXPECT_FALSE(received[0].has_grh);
    std::copy_n(source.begin() + 100, 500, expected.begin() + 40);
    EXPECT_EQ(far.bytes(), expected);
}

TEST_F(WireDatagrams, BringTheHeaderThatTheyWereGiven)
{
    const auto source = near.bytes();
    auto expected = far.bytes();
    ASSERT_EQ(far.receive(far.sge(0, 1000)), 0);
    const Sge sge = near.sge(0, 64);
    SendWorkRequest work = datagram(sge);
    work.grh.emplace();
    for (std::size_t i = 0; i < work.grh->size(); ++i)
        (*work.grh)[i] = static_cast<std::byte>(200 + i);
    ASSERT_EQ(near.hca.post_send(*near.qp, work), 0);
    settle();
    const std::vector<Completion> received = far.completions();
    ASSERT_EQ(received.size(), 1u);
    EXPECT_TRUE(received[0].has_grh);
    std::copy(work.grh->begin(), work.grh->end(), expected.begin());
    std::copy_n(source.begin(), 64, expected.begin() + 40);
    EXPECT_EQ(far.bytes(), expected);
}

TEST_F(WireDatagrams, AreDroppedWhereNobodyTakesThem)
{
    ASSERT_EQ(send(0, 8), 0); // there is no receive
    settle();
    ASSERT_EQ(far.receive(far.sge(0, 100)), 0);
    const Sge sge = near.sge(0, 8);
    SendWorkRequest work = datagram(sge);
    EXPECT_EQ(far.hca.counters().datagrams_dropped, 1u);
    work.remote_qpn = 0xabcdef;
    ASSERT_EQ(near.hca.post_send(*near.qp, work), 0);
    work.remote_qpn = far.qp->number();
    work.remote_qkey = qkey + 1;
    ASSERT_EQ(near.hca.post_send(*near.qp, work), 0);
    settle();
    EXPECT_EQ(near.completions().size(), 3u);
    EXPECT_EQ(far.hca.counters().datagrams_dropped, 3u);
    EXPECT_TRUE(far.completions().empty());
}

TEST_F(WireDatagrams, WaitForRoomAndGetLostNowhere)
{
    constexpr std::uint64_t count = 200; // of 4096 bytes: more than the ring holds
    for (std::uint64_t id = 0; id < count; ++id) {
        ASSERT_EQ(far.receive(far.sge(0, 4136), id), 0);
        ASSERT_EQ(send(0, 4096, id), 0);
    }
    const std::size_t at_once = near.completions().size();
    EXPECT_LT(at_once, count);
    EXPECT_GT(at_once, 0u);
    settle();
    EXPECT_EQ(at_once + near.completions().size(), count);
    EXPECT_EQ(far.completions().size(), count);
    EXPECT_EQ(far.hca.counters().datagrams_dropped, 0u);
    EXPECT_EQ(near.link->counters().packets_sent, count);
    EXPECT_EQ(far.link->counters().bytes_received, count * 4096);
}

TEST_F(WireDatagrams, DoNotWaitForALinkThatHasEnded)
{
    for (std::uint64_t id = 0; id < 200; ++id)
        ASSERT_EQ(send(0, 4096, id), 0);
    near.link->lost();
    settle();
    EXPECT_EQ(send(0, 4096, 200), 0);
    const std::vector<Completion> all = near.completions();
    EXPECT_EQ(all.size(), 201u);
    EXPECT_TRUE(std::all_of(all.begin(), all.end(),
                            [](const Completion& completion) { return completion.status == WcStatus::success; }));
    EXPECT_EQ(near.qp->state(), QpState::rts) << "it is none that was connected";
}

TEST_F(WireDatagrams, AreNoLongerThanAPacket)
{
    ASSERT_EQ(send(0, 4097), 0);
    EXPECT_EQ(only_status(near), WcStatus::local_length_error);
    EXPECT_EQ(near.qp->state(), QpState::sqe);
    EXPECT_EQ(near.link->counters().packets_sent, 0u);
}

TEST_F(WireDatagrams, HaveAWayOfTheirOwnConnectionsHaveNot)
{
    near.make_qp();
    const Sge sge = near.sge(0, 8);
    near.connect(far.qp->number());
    EXPECT_EQ(near.hca.post_send(*near.qp, datagram(sge)), EINVAL);
}
