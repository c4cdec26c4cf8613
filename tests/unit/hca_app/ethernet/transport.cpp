// SPDX-License-Identifier: BSD-3-Clause
// What packets are sent as, and how received ones are led to queues.
#include "harness.hpp"

namespace mrz::ethernet::test {
namespace {

class Ways : public ThePort {
  protected:
    static constexpr l::Field in_tis(l::Field field) { return l::inside(l::create_tis_in::ctx, field); }
    static constexpr l::Field in_tir(l::Field field) { return l::inside(l::create_tir_in::ctx, field); }
    static constexpr l::Field in_rqt(l::Field field) { return l::inside(l::create_rqt_in::rqt_context, field); }

    std::vector<std::byte> tis_input() const
    {
        return firmware::test::input(0x912, 0, 0, l::create_tis_in::bytes,
                                     {{in_tis(l::tisc::transport_domain), domain_}});
    }
    static std::vector<std::byte> rqt_input(std::uint64_t most, std::uint64_t count,
                                            const std::vector<std::uint32_t>& queues)
    {
        std::vector<std::byte> in =
            firmware::test::input(0x916, 0, 0, l::create_rqt_in::bytes,
                                  {{in_rqt(l::rqtc::rqt_max_size), most}, {in_rqt(l::rqtc::rqt_actual_size), count}});
        for (const std::uint32_t queue : queues) {
            in.resize(in.size() + 4);
            l::set(std::span{in}.last(4), l::rq_num::rq_num, queue);
        }
        return in;
    }
    std::uint32_t make_rqt(const std::vector<std::uint32_t>& queues)
    {
        return number(good(rqt_input(8, queues.size(), queues)), l::create_rqt_out::rqtn);
    }
    Status modify_rqt(std::uint32_t rqt, const std::vector<std::uint32_t>& queues)
    {
        auto in = rqt_input(8, queues.size(), queues);
        l::set(in, l::command_in::opcode, 0x917);
        l::set(in, l::modify_rqt_in::rqtn, rqt);
        l::set(in, l::inside(l::modify_rqt_in::bitmask, l::rqt_bitmask::rqn_list), 1);
        return run(in).status;
    }
};

TEST_F(Ways, ToSendKeepTheirPriorityAndHoldTheirDomain)
{
    const std::uint32_t tis = make_tis();
    EXPECT_EQ(destroy(0x817, domain_), Status::bad_res_state);
    namespace in = l::modify_tis_in;
    const auto modify = [&](l::Field what) {
        return run(0x913,
                   {{in::tisn, tis}, {l::inside(in::bitmask, what), 1}, {l::inside(in::ctx, l::tisc::prio), 6}},
                   in::bytes)
            .status;
    };
    EXPECT_EQ(modify(l::modify_tis_bitmask::prio), Status::ok) << log_;
    EXPECT_EQ(modify(l::modify_tis_bitmask::lag_tx_port_affinity), Status::bad_param);
    EXPECT_EQ(modify({0, 1}), Status::bad_param) << "nobody knows what";
    EXPECT_EQ(good(0x915, {{l::query_tis_in::tisn, tis}}, 16, l::query_tis_out::bytes)
                  .get(l::inside(l::query_tis_out::tis_context, l::tisc::prio)),
              6U);
    EXPECT_EQ(destroy(0x914, tis), Status::ok) << log_;
    EXPECT_EQ(destroy(0x817, domain_), Status::ok) << log_;
}

TEST_F(Ways, ToSendRefuseWhatIsNotModelled)
{
    for (const l::Field field : {l::tisc::tls_en, l::tisc::lag_tx_port_affinity, l::tisc::underlay_qpn})
        EXPECT_EQ(run(with(tis_input(), {{in_tis(field), 1}})).status, Status::bad_param);
    EXPECT_EQ(run(with(tis_input(), {{in_tis(l::tisc::transport_domain), 999}})).status, Status::bad_res);
}

TEST_F(Ways, ToReceiveHoldTheirQueue)
{
    const std::uint32_t rq = make_rq();
    const std::uint32_t tir = make_tir(rq);
    EXPECT_EQ(destroy(0x90a, rq), Status::bad_res_state);
    EXPECT_EQ(destroy(0x817, domain_), Status::bad_res_state);
    EXPECT_EQ(destroy(0x902, tir), Status::ok) << log_;
    EXPECT_EQ(destroy(0x90a, rq), Status::ok) << log_;
}

TEST_F(Ways, ToReceiveRefuseWhatIsNotModelled)
{
    const std::uint32_t rq = make_rq();
    for (const l::Field field : {l::tirc::tls_en, l::tirc::packet_merge_mask, l::tirc::tunneled_offload_en})
        EXPECT_EQ(run(with(tir_input(rq), {{in_tir(field), 1}})).status, Status::bad_param);
    EXPECT_EQ(run(with(tir_input(rq), {{in_tir(l::tirc::disp_type), 2}})).status, Status::bad_param);
    EXPECT_EQ(run(with(tir_input(rq), {{in_tir(l::tirc::rx_hash_fn), 3}})).status, Status::bad_param);
    EXPECT_EQ(run(tir_input(rq + 1)).status, Status::bad_res);
    EXPECT_EQ(
        run(with(tir_input(rq), {{in_tir(l::tirc::disp_type), 1}, {in_tir(l::tirc::indirect_table), 5}})).status,
        Status::bad_res);
}

TEST_F(Ways, ToReceiveChangeTheirHash)
{
    namespace in = l::modify_tir_in;
    const std::uint32_t tir = make_tir(make_rq());
    const auto modify = [&](l::Field what, l::Field field, std::uint64_t value) {
        return run(0x901, {{in::tirn, tir}, {l::inside(in::bitmask, what), 1}, {l::inside(in::ctx, field), value}},
                   in::bytes)
            .status;
    };
    EXPECT_EQ(modify(l::modify_tir_bitmask::hash, l::tirc::rx_hash_fn, 2), Status::ok) << log_;
    EXPECT_EQ(modify(l::modify_tir_bitmask::hash, l::tirc::rx_hash_fn, 3), Status::bad_param);
    EXPECT_EQ(modify(l::modify_tir_bitmask::self_lb_en, l::tirc::self_lb_block, 1), Status::ok) << log_;
    EXPECT_EQ(modify(l::modify_tir_bitmask::packet_merge, l::tirc::packet_merge_mask, 1), Status::bad_param);
    EXPECT_EQ(modify({60, 1}, l::tirc::rx_hash_fn, 1), Status::bad_param) << "nobody knows what";
    const auto shown = good(0x903, {{l::query_tir_in::tirn, tir}}, 16, l::query_tir_out::bytes);
    EXPECT_EQ(shown.get(l::inside(l::query_tir_out::tir_context, l::tirc::rx_hash_fn)), 2U);
    EXPECT_EQ(shown.get(l::inside(l::query_tir_out::tir_context, l::tirc::self_lb_block)), 1U);
}

TEST_F(Ways, TablesOfQueuesAreListsThatChange)
{
    const std::uint32_t first = make_rq();
    const std::uint32_t second = make_rq();
    const std::uint32_t rqt = make_rqt({first, first, first});
    EXPECT_EQ(destroy(0x90a, first), Status::bad_res_state);
    EXPECT_EQ(modify_rqt(rqt, {second, 12345}), Status::bad_res) << "there is no such queue";
    EXPECT_EQ(destroy(0x90a, first), Status::bad_res_state) << "nothing has changed";
    EXPECT_EQ(run(0x917, {{l::modify_rqt_in::rqtn, rqt}, {l::inside(l::modify_rqt_in::bitmask, {0, 1}), 1}},
                  l::modify_rqt_in::bytes)
                  .status,
              Status::bad_param)
        << "nobody knows what";
    EXPECT_EQ(modify_rqt(rqt, {second, second}), Status::ok) << log_;
    EXPECT_EQ(destroy(0x90a, first), Status::ok) << log_;
    const auto shown = good(0x919, {{l::query_rqt_in::rqtn, rqt}}, 16, l::query_rqt_out::bytes + 8);
    EXPECT_EQ(shown.get(l::inside(l::query_rqt_out::rqt_context, l::rqtc::rqt_actual_size)), 2U);
    EXPECT_EQ(shown.get(l::shifted(l::rq_num::rq_num, l::query_rqt_out::bytes)), second);
    EXPECT_EQ(run(0x919, {{l::query_rqt_in::rqtn, rqt}}, 16, l::query_rqt_out::bytes).status, Status::bad_outp_len);
    const std::uint32_t tir =
        number(good(with(tir_input(0), {{in_tir(l::tirc::disp_type), 1}, {in_tir(l::tirc::indirect_table), rqt}})),
               l::create_tir_out::tirn);
    EXPECT_EQ(destroy(0x918, rqt), Status::bad_res_state);
    EXPECT_EQ(destroy(0x902, tir), Status::ok);
    EXPECT_EQ(destroy(0x918, rqt), Status::ok) << log_;
    EXPECT_EQ(destroy(0x90a, second), Status::ok) << log_;
}

TEST_F(Ways, TablesOfQueuesHaveTheSizeThatTheySay)
{
    const std::uint32_t rq = make_rq();
    EXPECT_EQ(run(rqt_input(0, 1, {rq})).status, Status::bad_param);
    EXPECT_EQ(run(rqt_input(257, 1, {rq})).status, Status::bad_param);
    EXPECT_EQ(run(rqt_input(1, 2, {rq, rq})).status, Status::bad_param);
    EXPECT_EQ(run(rqt_input(4, 0, {})).status, Status::bad_param);
    EXPECT_EQ(run(rqt_input(4, 3, {rq, rq})).status, Status::bad_inp_len);
    EXPECT_EQ(destroy(0x90a, rq), Status::ok) << "none of them holds it";
}

} // namespace
} // namespace mrz::ethernet::test
