// SPDX-License-Identifier: BSD-3-Clause
#include "engine.hpp"

#include <array>
#include <cerrno>
#include <set>
#include <string>
#include <tuple>

using namespace mrz;
using namespace mrz::hca;
using enum QpState;

namespace {

constexpr std::array states = {QpState::reset, init, rtr, rts, sqd, sqe, err};

// What each legal transition must be given.
QpAttributes needed(QpType type, QpState from, QpState to)
{
    if (to == init && from == QpState::reset)
        return type == QpType::rc ? to_init_rc() : QpAttributes{.qkey = 1};
    if (type == QpType::rc && to == rtr)
        return to_rtr_rc(5);
    if (from == rtr && to == rts)
        return type == QpType::rc ? to_rts_rc() : QpAttributes{.send_psn = 0};
    return {};
}

bool accepted(QpType type, QpState from, QpState to, const QpAttributes& attributes)
{
    try {
        check_transition(type, from, to, attributes);
        return true;
    } catch (const Error& error) {
        EXPECT_EQ(error.error_number(), EINVAL);
        return false;
    }
}

} // namespace

TEST(Transitions, AreThoseOfTheSpecification)
{
    const std::set<std::pair<QpState, QpState>> forward = {{QpState::reset, init},
                                                           {init, init},
                                                           {init, rtr},
                                                           {rtr, rts},
                                                           {rts, rts},
                                                           {rts, sqd},
                                                           {sqd, sqd},
                                                           {sqd, rts}};
    for (const QpType type : {QpType::rc, QpType::ud}) {
        for (const QpState from : states) {
            for (const QpState to : states) {
                const bool legal = to == QpState::reset || (to == err && from != QpState::reset) ||
                                   forward.contains({from, to}) || (type == QpType::ud && from == sqe && to == rts);
                EXPECT_EQ(accepted(type, from, to, needed(type, from, to)), legal)
                    << to_string(type) << ' ' << to_string(from) << ' ' << to_string(to);
            }
        }
    }
}

TEST(Transitions, WantTheirAttributesAndNoOthers)
{
    EXPECT_FALSE(accepted(QpType::rc, QpState::reset, init, {}));
    EXPECT_FALSE(accepted(QpType::ud, QpState::reset, init, to_init_rc()));
    EXPECT_FALSE(accepted(QpType::rc, init, rtr, {.destination_qpn = 5}));
    EXPECT_FALSE(accepted(QpType::rc, rtr, rts, {}));
    EXPECT_FALSE(accepted(QpType::rc, rts, rts, {.destination_qpn = 5}));
    EXPECT_TRUE(accepted(QpType::rc, rts, rts, {.access = KeyRights::remote_read, .min_rnr_timer = 3}));
    EXPECT_TRUE(accepted(QpType::rc, sqd, sqd, {.retry_count = 1}));
    EXPECT_FALSE(accepted(QpType::rc, rts, err, {.retry_count = 1}));
    try {
        check_transition(QpType::rc, init, rtr, {.destination_qpn = 5});
    } catch (const Error& error) {
        EXPECT_NE(std::string{error.what()}.find("(RC) from INIT to RTR"), std::string::npos) << error.what();
        EXPECT_NE(std::string{error.what()}.find("path_mtu, receive_psn, max_dest_rd_atomic, min_rnr_timer"),
                  std::string::npos)
            << error.what();
    }
}

TEST(Transitions, KnowTheRangesOfTheirValues)
{
    for (const std::uint32_t mtu : {256U, 512U, 1024U, 2048U, 4096U, 0U, 128U, 300U, 8192U}) {
        QpAttributes attributes = to_rtr_rc(5);
        attributes.path_mtu = mtu;
        EXPECT_EQ(accepted(QpType::rc, init, rtr, attributes), mtu >= 256 && mtu <= 4096 && mtu != 300) << mtu;
    }
    EXPECT_TRUE(accepted(QpType::rc, init, rtr, to_rtr_rc(5, 31)));
    EXPECT_FALSE(accepted(QpType::rc, init, rtr, to_rtr_rc(5, 32)));
    EXPECT_FALSE(accepted(QpType::rc, rtr, rts, to_rts_rc(8)));
    EXPECT_FALSE(accepted(QpType::rc, rtr, rts, to_rts_rc(7, 32)));
    EXPECT_FALSE(accepted(QpType::rc, rtr, rts, to_rts_rc(7, 31, 8)));
}

TEST(Transitions, TimersAreThoseOfTheSpecification)
{
    using namespace std::chrono_literals;
    EXPECT_EQ(rnr_delay(0), 655360us);
    EXPECT_EQ(rnr_delay(1), 10us);
    EXPECT_EQ(rnr_delay(5), 60us);
    EXPECT_EQ(rnr_delay(12), 640us);
    EXPECT_EQ(rnr_delay(31), 491520us);
    EXPECT_EQ(answer_timeout(0), std::nullopt);
    EXPECT_EQ(answer_timeout(1), 8192ns);
    EXPECT_EQ(answer_timeout(14), std::chrono::nanoseconds{67108864});
}

using QueuePairState = EngineTest;

TEST_F(QueuePairState, PostingIsPossibleOnlyInItsStates)
{
    bob.qp = hca.create_qp(rc_options(bob));
    hca.modify_qp(*bob.qp, init, to_init_rc());
    alice.qp = hca.create_qp(rc_options(alice));
    const std::vector<Sge> sges = {alice.sge(0, 8)};
    const SendWorkRequest work = request(SendOpcode::rdma_write, sges, bob, 0);
    EXPECT_EQ(hca.post_send(*alice.qp, work), EINVAL);
    EXPECT_EQ(hca.post_receive(*alice.qp, {}), EINVAL);
    hca.modify_qp(*alice.qp, init, to_init_rc());
    EXPECT_EQ(hca.post_send(*alice.qp, work), EINVAL);
    EXPECT_EQ(hca.post_receive(*alice.qp, {}), 0);
    hca.modify_qp(*alice.qp, rtr, to_rtr_rc(bob.qp->number()));
    EXPECT_EQ(hca.post_send(*alice.qp, work), EINVAL);
    hca.modify_qp(*alice.qp, rts, to_rts_rc());
    EXPECT_EQ(hca.query_qp(*alice.qp).destination_qpn, bob.qp->number());
    EXPECT_EQ(hca.post_send(*alice.qp, work), 0);
    hca.modify_qp(*alice.qp, err);
    EXPECT_EQ(hca.post_send(*alice.qp, work), 0) << "is accepted, to be flushed";
    EXPECT_EQ(hca.post_receive(*alice.qp, {}), 0);
    EXPECT_EQ(completions(alice).size(), 4u);
    hca.modify_qp(*alice.qp, QpState::reset);
    EXPECT_EQ(alice.qp->state(), QpState::reset);
    EXPECT_EQ(hca.query_qp(*alice.qp).destination_qpn, std::nullopt);
    EXPECT_EQ(hca.post_receive(*alice.qp, {}), EINVAL);
}

TEST_F(QueuePairState, ADrainedQueueHoldsItsWork)
{
    connect();
    hca.modify_qp(*alice.qp, sqd, {.sq_drained_event = true});
    EXPECT_EQ(events, (std::vector<Event>{{EventType::sq_drained, alice.qp->number()}}));
    const std::vector<std::byte> before = bytes(bob);
    const std::vector<Sge> sges = {alice.sge(0, 64)};
    EXPECT_EQ(hca.post_send(*alice.qp, request(SendOpcode::rdma_write, sges, bob, 0)), 0);
    EXPECT_TRUE(completions(alice).empty());
    EXPECT_EQ(bytes(bob), before);
    hca.modify_qp(*alice.qp, rts);
    EXPECT_EQ(only_status(alice), WcStatus::success);
    EXPECT_NE(bytes(bob), before);
}

TEST_F(QueuePairState, ResetForgetsWorkAndCompletions)
{
    connect();
    const std::vector<Sge> sges = {alice.sge(0, 8)};
    receive(alice, sges);
    ASSERT_EQ(hca.post_send(*alice.qp, request(SendOpcode::rdma_write, sges, bob, 0)), 0);
    ASSERT_EQ(hca.post_send(*alice.qp, request(SendOpcode::send, sges, bob, 0)), 0);
    EXPECT_TRUE(hca.next_deadline()) << "the send waits for a receive";
    hca.modify_qp(*alice.qp, QpState::reset);
    EXPECT_FALSE(hca.next_deadline());
    EXPECT_TRUE(completions(alice).empty());
    hca.modify_qp(*alice.qp, init, to_init_rc());
    hca.modify_qp(*alice.qp, rtr, to_rtr_rc(bob.qp->number()));
    hca.modify_qp(*alice.qp, rts, to_rts_rc());
    for (std::uint64_t i = 0; i < 16; ++i)
        EXPECT_EQ(hca.post_send(*alice.qp, request(SendOpcode::rdma_write, sges, bob, 0)), 0) << "all slots are free";
    hca.modify_qp(*alice.qp, err);
    EXPECT_EQ(completions(alice).size(), 16u) << "the receive is gone too";
}
