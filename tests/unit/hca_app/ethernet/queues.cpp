// SPDX-License-Identifier: BSD-3-Clause
// Queues of packets.
#include "harness.hpp"

#include <functional>

namespace mrz::ethernet::test {
namespace {

using PacketQueues = ThePort;
using l::CqeOpcode;
using l::CqeSyndrome;
using l::WqeOpcode;

std::uint64_t opcode(const std::vector<std::byte>& entry)
{
    return l::get(entry, l::cqe64::opcode);
}
constexpr auto done = static_cast<std::uint64_t>(CqeOpcode::req);
constexpr auto failed = static_cast<std::uint64_t>(CqeOpcode::req_err);

TEST_F(PacketQueues, DropWhatIsSentAndSayThatItIsDone)
{
    const std::uint32_t sq = make_sq(make_tis());
    post(WqeOpcode::send);
    ring(sq);
    EXPECT_TRUE(completion().empty()) << "it is reset";
    ASSERT_EQ(modify_sq(sq, State::reset, State::ready), Status::ok) << log_;
    post(WqeOpcode::send, false);
    post(WqeOpcode::tso);
    post(WqeOpcode::nop);
    ring(sq);
    for (const std::uint64_t index : {0U, 2U, 3U}) {
        const auto entry = completion();
        ASSERT_FALSE(entry.empty()) << log_;
        EXPECT_EQ(opcode(entry), done);
        EXPECT_EQ(l::get(entry, l::cqe64::wqe_counter), index);
        EXPECT_EQ(l::get(entry, l::cqe64::srqn), 0x777U) << "what its owner calls it";
    }
    EXPECT_TRUE(completion().empty());
    EXPECT_EQ(path_.packets_dropped(), 3U) << "a NOP is no packet";
}

TEST_F(PacketQueues, AreRungInTheirOwnPageOnly)
{
    const std::uint32_t sq = make_sq();
    ASSERT_EQ(modify_sq(sq, State::reset, State::ready), Status::ok);
    path_.turn();
    post(WqeOpcode::nop);
    ring(sq, uar_ + 1);
    EXPECT_TRUE(completion().empty());
    ring(sq);
    EXPECT_FALSE(completion().empty());
}

TEST_F(PacketQueues, FailByWorkThatIsNotTheirsAndFlushTheRest)
{
    const std::uint32_t sq = make_sq();
    ASSERT_EQ(modify_sq(sq, State::reset, State::ready), Status::ok);
    post(WqeOpcode::rdma_write);
    post(WqeOpcode::send);
    ring(sq);
    EXPECT_EQ(syndrome(completion()), static_cast<std::uint64_t>(CqeSyndrome::local_qp_op));
    const auto flushed = completion();
    EXPECT_EQ(opcode(flushed), failed);
    EXPECT_EQ(syndrome(flushed), static_cast<std::uint64_t>(CqeSyndrome::wr_flush));
    EXPECT_EQ(path_.packets_dropped(), 0U);
    const auto shown = good(0x907, {{l::query_sq_in::sqn, sq}}, 16, l::query_sq_out::bytes);
    EXPECT_EQ(shown.get(l::inside(l::query_sq_out::sq_context, l::sqc::state)), 3U);
    // And begins anew.
    ASSERT_EQ(modify_sq(sq, State::error, State::reset), Status::ok);
    produced_ = 0;
    say(0);
    ASSERT_EQ(modify_sq(sq, State::reset, State::ready), Status::ok);
    post(WqeOpcode::nop);
    ring(sq);
    EXPECT_EQ(opcode(completion()), done);
}

TEST_F(PacketQueues, ThatSayMoreThanTheyHoldFail)
{
    const std::uint32_t sq = make_sq();
    ASSERT_EQ(modify_sq(sq, State::reset, State::ready), Status::ok);
    say((1U << log_sends) + 1);
    ring(sq);
    EXPECT_TRUE(completion().empty());
    EXPECT_EQ(path_.query_packet_queue(sq).state, queues::PacketQueueState::error);
    const auto event = memory_.at(eq_at, 64);
    EXPECT_EQ(l::get(event, l::eqe::type), static_cast<std::uint64_t>(l::EventType::wq_catas_error));
    const auto data = l::part(event, l::eqe::data);
    EXPECT_EQ(l::get(data, l::eqe_qp_srq::type), 2U);
    EXPECT_EQ(l::get(data, l::eqe_qp_srq::qp_srq_n), sq);
    say(2 * (1U << log_sends) + 5);
    ring(sq);
    EXPECT_EQ(event_queues_.find(eq_)->state().producer_index, 1U) << "it has ended already";
}

TEST_F(PacketQueues, OfASendEntryThatMakesNoSenseFail)
{
    const std::uint32_t sq = make_sq();
    ASSERT_EQ(modify_sq(sq, State::reset, State::ready), Status::ok);
    post(WqeOpcode::send);
    l::set(memory_.at(sq_at, 64), l::wqe_ctrl_seg::ds, 8); // two blocks, where one is posted
    ring(sq);
    EXPECT_EQ(syndrome(completion()), static_cast<std::uint64_t>(CqeSyndrome::local_qp_op));
}

TEST_F(PacketQueues, CompleteToAQueueWhereverInItsUmemItLies)
{
    namespace in = l::create_cq_in;
    namespace made = l::create_umem_in;
    auto umem = firmware::test::input(0xa08, 0, 0, made::bytes, {{l::inside(made::umem, l::umem::num_of_mtt), 3}});
    for (const std::uint64_t page : {0x20000U, 0x30000U, 0x40000U})
        add_page(umem, page | 3U);
    auto cq = with(cq_input(), {{in::cq_umem_valid, 1},
                                {in::cq_umem_id, number(good(umem), l::create_umem_out::umem_id)},
                                {in::cq_umem_offset, 2 * 4096 - 2048}});
    const auto sq_of = [&](std::uint32_t cqn) {
        return number(good(with(sq_input(), {{in_sq(l::sqc::cqn), cqn}})), l::create_sq_out::sqn);
    };
    const std::uint32_t sq = sq_of(number(good(cq), l::create_cq_out::cqn)); // up to the end of the second page
    ASSERT_EQ(modify_sq(sq, State::reset, State::ready), Status::ok);
    post(WqeOpcode::nop);
    ring(sq);
    EXPECT_EQ(l::get(memory_.at(0x30800, 64), l::cqe64::qpn), sq);
    EXPECT_EQ(run(with(cq, {{in::cq_umem_offset, 3 * 4096 - 1024}})).status, Status::bad_param) << "over its end";
    ASSERT_EQ(modify_sq(sq, State::ready, State::error), Status::ok);
    ASSERT_EQ(modify_sq(sq, State::error, State::reset), Status::ok);
    // Over the bound of two pages.
    cq = with(cq, {{in::cq_umem_offset, 4096 - 64}});
    const std::uint32_t other = sq_of(number(good(cq), l::create_cq_out::cqn));
    ASSERT_EQ(modify_sq(other, State::reset, State::ready), Status::ok);
    produced_ = 0;
    say(0);
    post(WqeOpcode::nop);
    post(WqeOpcode::nop);
    ring(other);
    EXPECT_EQ(l::get(memory_.at(0x20fc0, 64), l::cqe64::qpn), other);
    EXPECT_EQ(l::get(memory_.at(0x30000, 64), l::cqe64::qpn), other);
}

TEST_F(PacketQueues, GoFromStateToStateAsTheInterfaceHasIt)
{
    const std::uint32_t sq = make_sq();
    const std::uint32_t rq = make_rq();
    for (const auto& modify : {std::function{[&](State from, State to) { return modify_sq(sq, from, to); }},
                               std::function{[&](State from, State to) { return modify_rq(rq, from, to); }}}) {
        EXPECT_EQ(modify(State::ready, State::ready), Status::bad_res_state) << "it is reset";
        EXPECT_EQ(modify(State::reset, State::error), Status::bad_res_state);
        EXPECT_EQ(modify(State::reset, static_cast<State>(2)), Status::bad_param);
        EXPECT_EQ(modify(State::reset, State::ready), Status::ok) << log_;
        EXPECT_EQ(modify(State::ready, State::error), Status::ok) << log_;
        EXPECT_EQ(modify(State::error, State::ready), Status::bad_res_state);
        EXPECT_EQ(modify(State::error, State::reset), Status::ok) << log_;
    }
    EXPECT_EQ(modify_sq(sq, State::reset, State::ready, 1), Status::bad_param) << "no rate limits";
    EXPECT_EQ(modify_sq(sq + 1, State::reset, State::ready), Status::bad_res);
    EXPECT_EQ(modify_rq(rq, State::reset, State::ready, 1), Status::bad_param) << "no low watermark";
    EXPECT_EQ(modify_rq(rq, State::reset, State::ready, 1U << 3, 77), Status::bad_res) << "no such counters";
}

TEST_F(PacketQueues, RefuseWhatIsNotModelled)
{
    for (const l::Field field : {l::sqc::allow_multi_pkt_send_wqe, l::sqc::reg_umr, l::sqc::allow_swp,
                                 l::sqc::hairpin, l::sqc::fre, l::sqc::qos_queue_group_id, l::sqc::state})
        EXPECT_EQ(run(with(sq_input(), {{in_sq(field), 1}})).status, Status::bad_param) << field.offset;
    EXPECT_EQ(run(with(sq_input(), {{in_sq(l::sqc::tis_lst_sz), 2}})).status, Status::bad_param);
    for (const l::Field field : {l::rqc::mem_rq_type, l::rqc::scatter_fcs, l::rqc::flush_in_error_en,
                                 l::rqc::delay_drop_en, l::rqc::hairpin, l::rqc::state})
        EXPECT_EQ(run(with(rq_input(), {{in_rq(field), 1}})).status, Status::bad_param) << field.offset;
    for (const auto& input : {sq_input(), rq_input()}) {
        EXPECT_EQ(run(with(input, {{in_wq(l::wq::wq_type), 2}})).status, Status::bad_param) << "striding";
        EXPECT_EQ(run(with(input, {{in_wq(l::wq::wq_signature), 1}})).status, Status::bad_param);
        EXPECT_EQ(run(with(input, {{in_wq(l::wq::log_wq_sz), 20}})).status, Status::bad_param);
        EXPECT_EQ(run(with(input, {{in_wq(l::wq::log_wq_stride), 12}})).status, Status::bad_param);
        EXPECT_EQ(run(with(input, {{in_wq(l::wq::pd), 0xffff}})).status, Status::bad_res);
        EXPECT_EQ(run(with(input, {{in_wq(l::wq::dbr_addr), 3}})).status, Status::bad_param);
        EXPECT_EQ(run(with(input, {{in_sq(l::sqc::cqn), 0xffff}})).status, Status::bad_res);
        std::vector<std::byte> without_page = input;
        without_page.resize(without_page.size() - 8);
        EXPECT_EQ(run(without_page).status, Status::bad_inp_len);
    }
    EXPECT_EQ(firmware_.context().objects.count(Kind::sq) + firmware_.context().objects.count(Kind::rq), 0U);
}

TEST_F(PacketQueues, HoldWhatTheyUse)
{
    const std::uint32_t tis = make_tis();
    const std::uint32_t sq = make_sq(tis);
    EXPECT_EQ(destroy(0x914, tis), Status::bad_res_state);
    EXPECT_EQ(destroy(0x401, cq_), Status::bad_res_state);
    EXPECT_EQ(destroy(0x801, pd_), Status::bad_res_state);
    EXPECT_EQ(destroy(0x803, uar_), Status::bad_res_state);
    EXPECT_EQ(destroy(0x906, sq), Status::ok) << log_;
    EXPECT_EQ(destroy(0x906, sq), Status::bad_res);
    EXPECT_EQ(destroy(0x914, tis), Status::ok) << log_;
    const std::uint32_t rq = make_rq();
    EXPECT_EQ(destroy(0x401, cq_), Status::bad_res_state);
    EXPECT_EQ(destroy(0x90a, rq), Status::ok) << log_;
    EXPECT_EQ(destroy(0x401, cq_), Status::ok) << log_;
}

TEST_F(PacketQueues, RememberWhatTheyWereTold)
{
    const std::uint32_t rq = make_rq();
    EXPECT_EQ(modify_rq(rq, State::reset, State::ready, 1U << 1), Status::ok) << log_;
    const auto shown = good(0x90b, {{l::query_rq_in::rqn, rq}}, 16, l::query_rq_out::bytes);
    EXPECT_EQ(shown.get(l::inside(l::query_rq_out::rq_context, l::rqc::vsd)), 1U);
    EXPECT_EQ(shown.get(l::inside(l::query_rq_out::rq_context, l::rqc::state)), 1U);
    EXPECT_EQ(shown.get(l::inside(l::query_rq_out::rq_context, l::rqc::cqn)), cq_);
}

TEST_F(PacketQueues, AreTheirUsers)
{
    const auto uid = static_cast<std::uint16_t>(make_uctx());
    const auto other = static_cast<std::uint16_t>(make_uctx());
    const std::uint32_t pd = make_pd(uid);
    EXPECT_EQ(run(with(rq_input(uid), {{in_wq(l::wq::pd), pd}})).status, Status::bad_res)
        << "the kernel's completions";
    const std::uint32_t cq = number(good(with(cq_input(), {{l::command_in::uid, uid}})), l::create_cq_out::cqn);
    const auto input = with(rq_input(uid), {{in_wq(l::wq::pd), pd}, {in_rq(l::rqc::cqn), cq}});
    const std::uint32_t rq = number(good(input), l::create_rq_out::rqn);
    EXPECT_EQ(run(0x90a, {{l::destroy_rq_in::rqn, rq}}, 16, 16, 0, other).status, Status::bad_res);
    EXPECT_EQ(run(with(rq_input(other), {{in_wq(l::wq::pd), pd}})).status, Status::bad_res);
    auto sends = with(sq_input(0, uid), {{in_wq(l::wq::pd), pd}});
    EXPECT_EQ(run(sends).status, Status::bad_res) << "the kernel's completions";
    l::set(sends, in_sq(l::sqc::cqn), cq);
    good(sends);
    good(0xa06, {{l::destroy_uctx_in::uid, uid}});
    EXPECT_EQ(firmware_.context().objects.count(Kind::sq), 0U);
    EXPECT_EQ(firmware_.context().objects.count(Kind::rq), 0U) << "who goes leaves nothing";
}

} // namespace
} // namespace mrz::ethernet::test
