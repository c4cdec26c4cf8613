// SPDX-License-Identifier: BSD-3-Clause
// What Linux's mlx5_core and mlx5_ib send to a device from their load to their unload, in order, less their queues.
#include "harness.hpp"

#include "layouts/capabilities.hpp"
#include "layouts/registers.hpp"
#include "layouts/vport.hpp"

using namespace mrz;
using namespace mrz::firmware;
using namespace mrz::firmware::test;

namespace {

namespace l = mrz::layouts;

constexpr std::size_t capabilities = 16 + 4096;

class Boot : public TheFirmware {
  protected:
    explicit Boot(LinkType link = LinkType::infiniband) : TheFirmware{Settings{.link = link}} {}

    Answer good(std::uint16_t opcode, Values values = {}, std::size_t in = 16, std::size_t out = 16,
                std::uint16_t op_mod = 0, std::uint16_t uid = 0)
    {
        Answer answer = run(opcode, values, in, out, op_mod, uid);
        EXPECT_EQ(answer.status, Status::ok) << log_;
        return answer;
    }
    void give(std::uint64_t count)
    {
        auto in = input(0x108, 1, 0, 16 + 8 * count, {{l::manage_pages_in::input_num_entries, count}});
        for (std::size_t i = 0; i < count; ++i)
            l::set(in, l::shifted({0, 64}, 16 + 8 * i), next_page_ += 4096);
        EXPECT_EQ(run(in).status, Status::ok) << log_;
    }
    Answer access(std::uint64_t reg, bool write, Values values, std::size_t bytes)
    {
        auto in = input(0x805, write ? 0 : 1, 0, 16 + bytes, {{l::access_register_in::register_id, reg}});
        for (const auto& [field, value] : values)
            l::set(in, l::shifted(field, 16), value);
        return run(in, 16 + bytes);
    }
    void load_core()
    {
        good(0x104);
        good(0x10a, {}, 16, l::query_issi_out::bytes);
        good(0x10b, {{l::set_issi_in::current_issi, 1}});
        give(good(0x107, {}, 16, 16, 1).get(l::query_pages_out::num_pages));
        EXPECT_EQ(access(0x7004, true, {}, 16).status, Status::ok) << log_;
        for (const std::uint16_t op_mod : {std::uint16_t{1}, std::uint16_t{0}})
            good(0x100, {}, 16, capabilities, op_mod);
        give(good(0x107, {}, 16, 16, 2).get(l::query_pages_out::num_pages));
        good(0x102, {}, l::init_hca_in::bytes);
        good(0x10d, {}, l::set_driver_version_in::bytes);
        good(0x101, {}, 16, l::query_adapter_out::bytes);
        good(0x802);
    }
    void unload_core()
    {
        good(0x103, {}, 16, 16);
        std::uint64_t back = 0;
        for (;;) {
            const std::uint64_t count =
                good(0x108, {{l::manage_pages_in::input_num_entries, 766}}, 16, 16 + 8 * 766, 2)
                    .get(l::manage_pages_out::output_num_entries);
            if (count == 0)
                break;
            back += count;
        }
        EXPECT_EQ(back, Settings{}.boot_pages + Settings{}.init_pages);
        good(0x105);
        EXPECT_EQ(firmware_.context().objects.count(), 0U);
        EXPECT_EQ(engine_.counters().keys, 0U);
    }

    std::uint64_t next_page_ = 1U << 20;
};

TEST_F(Boot, OfAnInfinibandDeviceAndBackTwice)
{
    for (int round = 0; round < 2; ++round) {
        load_core();
        const auto context = good(0x762, {}, 16, l::query_hca_vport_context_out::bytes).out;
        const auto port = l::part(std::span{context}, l::query_hca_vport_context_out::hca_vport_context);
        EXPECT_EQ(l::get(port, l::hca_vport_context::port_state), 4U) << "active";
        EXPECT_EQ(l::get(port, l::hca_vport_context::port_guid), Settings{}.guid);
        good(0x800);
        for (std::uint64_t index = 0; index < 8; ++index)
            good(0x764, {{l::query_hca_vport_gid_in::gid_index, index}}, 16, 16 + 16);
        for (std::uint64_t index = 0; index < 128; ++index)
            good(0x765, {{l::query_hca_vport_pkey_in::pkey_index, index}}, 16, 16 + 4);
        EXPECT_EQ(
            good(0x765, {{l::query_hca_vport_pkey_in::pkey_index, 0xffff}}, 16, 16 + 4 * 128).get({16 * 8 + 16, 16}),
            0xffffU);
        EXPECT_EQ(
            access(0x5004, false, {{l::ptys_reg::local_port, 1}, {l::ptys_reg::proto_mask, 1}}, l::ptys_reg::bytes)
                .get(l::shifted(l::ptys_reg::ib_proto_oper, 16)),
            0x20U)
            << log_;
        EXPECT_EQ(access(0x5003, false, {{l::pmtu_reg::local_port, 1}}, l::pmtu_reg::bytes)
                      .get(l::shifted(l::pmtu_reg::oper_mtu, 16)),
                  4096U);
        EXPECT_EQ(access(0x500f, false, {{l::pvlc_reg::local_port, 1}}, l::pvlc_reg::bytes).status, Status::ok);
        // A process comes, and goes without cleaning up.
        const std::uint32_t uid = make_uctx();
        good(0x816, {}, 16, 16, 0, static_cast<std::uint16_t>(uid));
        good(0x802, {}, 16, 16, 0, static_cast<std::uint16_t>(uid));
        (void)make_pd(static_cast<std::uint16_t>(uid));
        good(0xa06, {{l::destroy_uctx_in::uid, uid}});
        unload_core();
    }
}

TEST_F(Boot, TablesEndWhereTheySay)
{
    load_core();
    EXPECT_EQ(run(0x764, {{l::query_hca_vport_gid_in::gid_index, 8}}, 16, 32).status, Status::ix);
    EXPECT_EQ(run(0x765, {{l::query_hca_vport_pkey_in::pkey_index, 128}}, 16, 20).status, Status::ix);
    EXPECT_EQ(run(0x765, {{l::query_hca_vport_pkey_in::pkey_index, 0xffff}}, 16, 20).status, Status::bad_outp_len);
    EXPECT_EQ(run(0x762, {{l::query_hca_vport_context_in::other_vport, 1}}, 16, 600).status, Status::bad_param);
    EXPECT_EQ(run(0x754, {}, 16, 512).status, Status::bad_op) << "an Ethernet port's";
}

TEST_F(Boot, SoftwareSaysWhatItProvidesAtThePort)
{
    load_core();
    const auto field = [](l::Field in_context) {
        return l::inside(l::modify_hca_vport_context_in::hca_vport_context, in_context);
    };
    constexpr std::uint32_t communication_manager = 1U << 16;
    good(0x763,
         {{field(l::hca_vport_context::cap_mask1), communication_manager},
          {field(l::hca_vport_context::cap_mask1_field_select), communication_manager}},
         l::modify_hca_vport_context_in::bytes);
    EXPECT_NE(firmware_.port().capabilities & communication_manager, 0U);
    EXPECT_EQ(run(0x763, {{field(l::hca_vport_context::cap_mask1_field_select), 1U << 30}},
                  l::modify_hca_vport_context_in::bytes)
                  .status,
              Status::bad_param);
}

TEST_F(Boot, ManagementDatagramsAreAnswered)
{
    load_core();
    const auto ask = [&](std::uint64_t attribute) {
        auto in = input(0x50d, 3, 0, l::mad_ifc_in::bytes, {{l::mad_ifc_in::port, 1}});
        const auto mad = l::part(std::span{in}, l::mad_ifc_in::mad);
        l::set(mad, {0, 32}, 0x01010101); // version 1, subnet management, version 1, Get
        l::set(mad, {128, 16}, attribute);
        Answer answer = run(in, l::mad_ifc_out::bytes);
        EXPECT_EQ(answer.status, Status::ok) << log_;
        EXPECT_EQ(answer.get({16 * 8 + 24, 8}), 0x81U) << "a response";
        return answer;
    };
    const Answer description = ask(0x10);
    EXPECT_EQ(description.get({16 * 8 + 32, 16}), 0U);
    EXPECT_EQ(static_cast<char>(description.out.at(16 + 64)), 'm');
    EXPECT_EQ(ask(0x11).get(l::shifted({96, 64}, 16 + 64)), Settings{}.guid) << "the node's GUID";
    EXPECT_NE(ask(0xff90).get({16 * 8 + 32, 16}), 0U) << "no extended port information";
}

TEST_F(Boot, RegistersThatAreNotThereAreRefused)
{
    load_core();
    EXPECT_EQ(access(0x9040, false, {}, 64).status, Status::bad_param);
    EXPECT_EQ(access(0x5003, false, {{l::pmtu_reg::local_port, 2}}, 16).status, Status::bad_param) << "port 2";
    EXPECT_EQ(access(0x5003, true, {{l::pmtu_reg::local_port, 1}, {l::pmtu_reg::admin_mtu, 9000}}, 16).status,
              Status::bad_param);
    EXPECT_EQ(run(0x805, {{l::access_register_in::register_id, 0x5003}}, 16, 16).status, Status::bad_param)
        << "a write of nothing";
    const auto set_speed = [&](std::uint64_t protocol) {
        return access(0x5004, true,
                      {{l::ptys_reg::local_port, 1},
                       {l::ptys_reg::proto_mask, protocol},
                       {l::ptys_reg::ib_proto_admin, 0x20}},
                      l::ptys_reg::bytes)
            .status;
    };
    EXPECT_EQ(set_speed(1), Status::ok) << log_;
    EXPECT_EQ(set_speed(4), Status::bad_param) << "Ethernet's";
}

class EthernetBoot : public Boot {
  protected:
    EthernetBoot() : Boot{LinkType::ethernet} {}
};

TEST_F(EthernetBoot, RemembersWhatThePortWasTold)
{
    load_core();
    good(0x100, {}, 16, capabilities, 4 << 1);
    namespace in = l::modify_nic_vport_context_in;
    const auto select = [](l::Field field) { return l::inside(in::field_select, field); };
    const auto vport = [](l::Field field) { return l::shifted(field, in::nic_vport_context.offset); };
    const std::size_t bytes = in::nic_vport_context.offset + l::nic_vport_context::bytes;
    good(0x755,
         {{select(l::modify_nic_vport_field_select::mtu), 1},
          {vport(l::nic_vport_context::mtu), 9000},
          {vport(l::nic_vport_context::roce_en), 1}},
         bytes);
    auto list = input(0x755, 0, 0, bytes + 16,
                      {{select(l::modify_nic_vport_field_select::addresses_list), 1},
                       {vport(l::nic_vport_context::allowed_list_size), 2}});
    l::set(list, l::shifted({0, 64}, bytes), 0x112233445566);
    l::set(list, l::shifted({0, 64}, bytes + 8), 0x665544332211);
    EXPECT_EQ(run(list).status, Status::ok) << log_;
    l::set(list, vport(l::nic_vport_context::allowed_list_size), 3);
    EXPECT_EQ(run(list).status, Status::bad_inp_len);

    const std::size_t at = l::query_nic_vport_context_out::nic_vport_context.offset;
    const Answer answer = good(0x754, {}, 16, at + l::nic_vport_context::bytes + 16);
    EXPECT_EQ(answer.get(l::shifted(l::nic_vport_context::mtu, at)), 9000U);
    EXPECT_EQ(answer.get(l::shifted(l::nic_vport_context::roce_en, at)), 0U) << "not selected";
    EXPECT_EQ(answer.get(l::shifted(l::nic_vport_context::allowed_list_size, at)), 2U);
    EXPECT_EQ(answer.get(l::shifted({0, 64}, at + l::nic_vport_context::current_uc_mac_address.offset)),
              0x112233445566U);
    EXPECT_EQ(good(0x750).get(l::query_vport_state_out::state), 1U);

    good(0x761,
         {{l::set_roce_address_in::roce_address_index, 255},
          {l::inside(l::set_roce_address_in::roce_address, l::roce_addr_layout::vlan_id), 7}},
         l::set_roce_address_in::bytes);
    EXPECT_EQ(good(0x760, {{l::query_roce_address_in::roce_address_index, 255}}, 16, l::query_roce_address_out::bytes)
                  .get(l::inside(l::query_roce_address_out::roce_address, l::roce_addr_layout::vlan_id)),
              7U);
    EXPECT_EQ(run(0x761, {{l::set_roce_address_in::roce_address_index, 256}}, l::set_roce_address_in::bytes).status,
              Status::ix);
}

TEST_F(EthernetBoot, WhatThePortDoesNotHaveIsNotChanged)
{
    load_core();
    namespace in = l::modify_nic_vport_context_in;
    constexpr l::Field affiliation{18, 1}; // with another port
    EXPECT_EQ(run(0x755, {{l::inside(in::field_select, affiliation), 1}},
                  in::nic_vport_context.offset + l::nic_vport_context::bytes)
                  .status,
              Status::bad_param);
}

TEST_F(EthernetBoot, TellsThatThePortWasTurnedOnOrOffAndNothingElse)
{
    std::vector<bool> told;
    firmware_.set_port_hooks({.changed = [&](bool up) { told.push_back(up); }, .packets_dropped = {}});
    load_core();
    const auto turn = [&](std::uint64_t status) {
        return access(0x5006, true,
                      {{l::paos_reg::local_port, 1}, {l::paos_reg::admin_status, status}, {l::paos_reg::ase, 1}}, 16)
            .status;
    };
    EXPECT_EQ(turn(1), Status::ok) << log_;
    EXPECT_EQ(told, std::vector<bool>{}) << "it was up";
    EXPECT_EQ(turn(2), Status::ok);
    EXPECT_EQ(turn(2), Status::ok);
    EXPECT_EQ(good(0x750).get(l::query_vport_state_out::state), 0U);
    EXPECT_EQ(turn(3), Status::bad_param);
    EXPECT_EQ(turn(1), Status::ok);
    EXPECT_EQ(told, (std::vector<bool>{false, true}));
    EXPECT_EQ(run(0x750, {}, 16, 16, 1).status, Status::bad_param) << "there is no embedded switch";
}

TEST_F(EthernetBoot, CountsWhatWasDropped)
{
    firmware_.set_port_hooks({.changed = {}, .packets_dropped = [] { return std::uint64_t{1} << 33; }});
    load_core();
    namespace out = l::query_vport_counter_out;
    const Answer vport = good(0x770, {}, l::query_vport_counter_in::bytes, out::bytes);
    EXPECT_EQ(vport.get(l::inside(out::transmit_errors, l::traffic_counter::packets)), std::uint64_t{1} << 33);
    EXPECT_EQ(vport.get(l::inside(out::transmitted_eth_unicast, l::traffic_counter::packets)), 0U);
    EXPECT_EQ(
        run(0x770, {{l::query_vport_counter_in::clear, 1}}, l::query_vport_counter_in::bytes, out::bytes).status,
        Status::bad_param);
    const auto counters = [&](std::uint64_t group, bool write = false) {
        return access(0x5008, write, {{l::ppcnt_reg::local_port, 1}, {l::ppcnt_reg::grp, group}},
                      l::ppcnt_reg::bytes);
    };
    EXPECT_EQ(counters(1).get(l::shifted({l::eth_2863_cntrs_grp_data_layout::if_out_discards_high.offset, 64},
                                         16 + l::ppcnt_reg::counter_set.offset)),
              std::uint64_t{1} << 33);
    EXPECT_EQ(counters(0).status, Status::ok) << log_;
    EXPECT_EQ(counters(0x21).status, Status::bad_param) << "InfiniBand's";
    EXPECT_EQ(counters(1, true).status, Status::bad_param);
}

TEST_F(EthernetBoot, RemembersPauses)
{
    load_core();
    const auto pause = [&](bool write, std::uint64_t by_priority = 0) {
        return access(0x5007, write,
                      {{l::pfcc_reg::local_port, 1}, {l::pfcc_reg::pprx, 1}, {l::pfcc_reg::pfctx, by_priority}},
                      l::pfcc_reg::bytes);
    };
    EXPECT_EQ(pause(true).status, Status::ok) << log_;
    EXPECT_EQ(pause(false).get(l::shifted(l::pfcc_reg::pprx, 16)), 1U);
    EXPECT_EQ(pause(false).get(l::shifted(l::pfcc_reg::pptx, 16)), 0U);
    EXPECT_EQ(pause(true, 1).status, Status::bad_param);
}

TEST_F(EthernetBoot, ListsOfAddressesEndWhereTheyMay)
{
    load_core();
    namespace in = l::modify_nic_vport_context_in;
    const std::size_t bytes = in::nic_vport_context.offset + l::nic_vport_context::bytes;
    const auto list = [&](std::uint64_t count) {
        return run(0x755,
                   {{l::inside(in::field_select, l::modify_nic_vport_field_select::addresses_list), 1},
                    {l::shifted(l::nic_vport_context::allowed_list_size, in::nic_vport_context.offset), count}},
                   bytes + 8 * 200)
            .status;
    };
    EXPECT_EQ(list(128), Status::ok) << log_;
    EXPECT_EQ(list(129), Status::lim);
}

} // namespace
