// SPDX-License-Identifier: BSD-3-Clause
#include "harness.hpp"

#include "layouts/flow_tables.hpp"

namespace mrz::ethernet::test {
namespace {

class Flows : public ThePort {
  protected:
    using ThePort::ThePort;

    static constexpr l::Field in_table(l::Field field)
    {
        return l::inside(l::create_flow_table_in::flow_table_context, field);
    }
    static constexpr l::Field in_flow(l::Field field) { return l::inside(l::set_fte_in::flow_context, field); }

    static std::vector<std::byte> table_input(std::uint64_t level, std::uint64_t next = 0)
    {
        return firmware::test::input(0x930, 0, 0, l::create_flow_table_in::bytes,
                                     {{in_table(l::flow_table_context::level), level},
                                      {in_table(l::flow_table_context::log_size), 4},
                                      {in_table(l::flow_table_context::table_miss_action), next == 0 ? 0U : 1U},
                                      {in_table(l::flow_table_context::table_miss_id), next}});
    }
    std::uint32_t make_table(std::uint64_t level, std::uint64_t next = 0)
    {
        return number(good(table_input(level, next)), l::create_flow_table_out::table_id);
    }
    static std::vector<std::byte> group_input(std::uint32_t table, std::uint64_t first, std::uint64_t last)
    {
        namespace in = l::create_flow_group_in;
        return firmware::test::input(
            0x933, 0, 0, in::bytes,
            {{in::table_id, table}, {in::start_flow_index, first}, {in::end_flow_index, last}});
    }
    std::uint32_t make_group(std::uint32_t table, std::uint64_t first, std::uint64_t last)
    {
        return number(good(group_input(table, first, last)), l::create_flow_group_out::group_id);
    }
    static constexpr std::uint64_t to_table = 1;
    static constexpr std::uint64_t to_tir = 2;
    //! Forwards to one destination.
    static std::vector<std::byte> entry_input(std::uint32_t table, std::uint32_t group, std::uint64_t index,
                                              std::uint64_t type, std::uint32_t destination)
    {
        namespace in = l::set_fte_in;
        auto bytes = firmware::test::input(0x936, 0, 0, in::bytes + 8,
                                           {{in::table_id, table},
                                            {in::flow_index, index},
                                            {in_flow(l::flow_context::group_id), group},
                                            {in_flow(l::flow_context::action), 4},
                                            {in_flow(l::flow_context::destination_list_size), 1}});
        const auto list = std::span{bytes}.last(8);
        l::set(list, l::dest_format_struct::destination_type, type);
        l::set(list, l::dest_format_struct::destination_id, destination);
        return bytes;
    }
    Status delete_entry(std::uint32_t table, std::uint64_t index)
    {
        return run(0x938, {{l::delete_fte_in::table_id, table}, {l::delete_fte_in::flow_index, index}},
                   l::delete_fte_in::bytes)
            .status;
    }
    Status destroy_table(std::uint32_t table)
    {
        return run(0x931, {{l::destroy_flow_table_in::table_id, table}}, l::destroy_flow_table_in::bytes).status;
    }
    Status destroy_group(std::uint32_t table, std::uint32_t group)
    {
        namespace in = l::destroy_flow_group_in;
        return run(0x934, {{in::table_id, table}, {in::group_id, group}}, in::bytes).status;
    }
    Status set_root(std::uint32_t table, std::uint16_t op_mod = 0, std::uint16_t uid = 0)
    {
        namespace in = l::set_flow_table_root_in;
        return run(0x92f, {{in::table_id, table}}, in::bytes, 16, op_mod, uid).status;
    }
};

TEST_F(Flows, AreMadeAndTakenBackInOrder)
{
    const std::uint32_t tir = make_tir(make_rq());
    const std::uint32_t last = make_table(9);
    const std::uint32_t first = make_table(3, last);
    EXPECT_EQ(set_root(first), Status::ok) << log_;
    const std::uint32_t group = make_group(first, 0, 7);
    good(entry_input(first, group, 2, to_tir, tir));
    good(entry_input(first, group, 3, to_table, last));
    EXPECT_EQ(destroy(0x902, tir), Status::bad_res_state);
    EXPECT_EQ(destroy_table(last), Status::bad_res_state);
    EXPECT_EQ(destroy_table(first), Status::bad_res_state) << "it has a group";
    EXPECT_EQ(destroy_group(first, group), Status::bad_res_state) << "it has entries";
    EXPECT_EQ(delete_entry(first, 2), Status::ok) << log_;
    EXPECT_EQ(delete_entry(first, 2), Status::bad_res);
    EXPECT_EQ(destroy(0x902, tir), Status::ok) << log_;
    EXPECT_EQ(delete_entry(first, 3), Status::ok) << log_;
    EXPECT_EQ(destroy_group(last, group), Status::bad_res) << "another table's";
    EXPECT_EQ(destroy_group(first, group), Status::ok) << log_;
    EXPECT_EQ(destroy_table(last), Status::bad_res_state) << "what the first one misses goes there";
    EXPECT_EQ(destroy_table(first), Status::ok) << "as the root";
    EXPECT_EQ(destroy_table(last), Status::ok) << log_;
}

TEST_F(Flows, LeadToHigherLevelsOnly)
{
    const std::uint32_t low = make_table(3);
    const std::uint32_t high = make_table(9);
    const std::uint32_t group = make_group(high, 0, 3);
    EXPECT_EQ(run(table_input(3, low)).status, Status::bad_param);
    EXPECT_EQ(run(entry_input(high, group, 0, to_table, low)).status, Status::bad_param);
    EXPECT_EQ(run(entry_input(high, group, 0, to_table, high)).status, Status::bad_param);
    EXPECT_EQ(run(table_input(64)).status, Status::bad_param);
    namespace in = l::modify_flow_table_in;
    const auto modify = [&](std::uint32_t table, std::uint32_t next, std::uint64_t select = 1) {
        return run(0x93c,
                   {{in::table_id, table},
                    {in::modify_field_select, select},
                    {l::inside(in::flow_table_context, l::flow_table_context::table_miss_action), 1},
                    {l::inside(in::flow_table_context, l::flow_table_context::table_miss_id), next}},
                   in::bytes)
            .status;
    };
    EXPECT_EQ(modify(high, low), Status::bad_param);
    EXPECT_EQ(modify(low, 999), Status::bad_res);
    EXPECT_EQ(modify(low, high, 1U << 15), Status::bad_param);
    EXPECT_EQ(modify(low, high), Status::ok) << log_;
    const auto shown = good(0x932, {{l::query_flow_table_in::table_id, low}}, l::query_flow_table_in::bytes,
                            l::query_flow_table_out::bytes);
    EXPECT_EQ(shown.get(l::inside(l::query_flow_table_out::flow_table_context, l::flow_table_context::table_miss_id)),
              high);
}

TEST_F(Flows, GroupsDoNotOverlapAndLieWithin)
{
    const std::uint32_t table = make_table(1);
    const std::uint32_t middle = make_group(table, 4, 7);
    EXPECT_EQ(run(group_input(table, 7, 9)).status, Status::bad_param);
    EXPECT_EQ(run(group_input(table, 0, 4)).status, Status::bad_param);
    EXPECT_EQ(run(group_input(table, 0, 15)).status, Status::bad_param);
    EXPECT_EQ(run(group_input(table, 5, 6)).status, Status::bad_param);
    EXPECT_EQ(run(group_input(table, 8, 16)).status, Status::bad_param) << "there are 16 entries";
    EXPECT_EQ(run(group_input(table, 9, 8)).status, Status::bad_param);
    (void)make_group(table, 8, 15);
    (void)make_group(table, 0, 3);
    EXPECT_EQ(destroy_group(table, middle), Status::ok);
    (void)make_group(table, 5, 6);
    namespace in = l::create_flow_group_in;
    EXPECT_EQ(run(with(group_input(table, 4, 4), {{in::match_criteria_enable, 8}})).status, Status::bad_param);
    EXPECT_EQ(run(with(group_input(table, 4, 4), {{in::group_type, 1}})).status, Status::bad_param);
    EXPECT_EQ(run(group_input(table + 1, 0, 1)).status, Status::bad_res);
}

TEST_F(Flows, EntriesThatMakeNoSenseAreRefused)
{
    const std::uint32_t tir = make_tir(make_rq());
    const std::uint32_t table = make_table(1);
    const std::uint32_t other = make_table(2);
    const std::uint32_t group = make_group(table, 4, 7);
    const auto input = entry_input(table, group, 4, to_tir, tir);
    EXPECT_EQ(run(entry_input(table, group, 3, to_tir, tir)).status, Status::ix);
    EXPECT_EQ(run(entry_input(other, group, 4, to_tir, tir)).status, Status::bad_res);
    EXPECT_EQ(run(entry_input(table, group + 1, 4, to_tir, tir)).status, Status::bad_res);
    EXPECT_EQ(run(entry_input(table, group, 4, to_tir, tir + 1)).status, Status::bad_res);
    EXPECT_EQ(run(entry_input(table, group, 4, 0, 1)).status, Status::bad_param) << "a vport";
    using namespace l::flow_context;
    for (const std::uint64_t wrong : {0x6U, 0x8U, 0x40U, 0x1U, 0x2U})
        EXPECT_EQ(run(with(input, {{in_flow(action), wrong}})).status, Status::bad_param) << wrong;
    EXPECT_EQ(run(with(input, {{in_flow(destination_list_size), 2}})).status, Status::bad_inp_len);
    EXPECT_EQ(run(with(input, {{in_flow(destination_list_size), 17}})).status, Status::bad_param);
    EXPECT_EQ(run(with(input, {{in_flow(destination_list_size), 0}})).status, Status::bad_param);
    for (const l::Field field : {extended_destination, flow_counter_list_size, packet_reformat_id, modify_header_id})
        EXPECT_EQ(run(with(input, {{in_flow(field), 1}})).status, Status::bad_param);
    EXPECT_EQ(run(with(input, {{l::command_in::op_mod, 1}})).status, Status::bad_param) << "flow_modify_en is 0";
    good(input);
    EXPECT_EQ(run(input).status, Status::bad_res_state) << "it is set";
    EXPECT_EQ(delete_entry(table, 5), Status::bad_res);
    EXPECT_EQ(delete_entry(table, 0), Status::bad_res);
    EXPECT_EQ(destroy(0x902, tir), Status::bad_res_state);
}

class FewFlows : public Flows {
  protected:
    FewFlows() : Flows{{.link = firmware::LinkType::ethernet, .log_max_flows = 1}} {}
};

TEST_F(FewFlows, AreAsManyAsThereMayBe)
{
    const std::uint32_t tir = make_tir(make_rq());
    const std::uint32_t table = make_table(1);
    const std::uint32_t group = make_group(table, 0, 7);
    good(entry_input(table, group, 0, to_tir, tir));
    good(entry_input(table, group, 1, to_tir, tir));
    EXPECT_EQ(run(entry_input(table, group, 2, to_tir, tir)).status, Status::no_res);
    EXPECT_EQ(delete_entry(table, 0), Status::ok) << log_;
    const auto uid = static_cast<std::uint16_t>(make_uctx());
    const auto his = [uid](std::vector<std::byte> in) { return with(std::move(in), {{l::command_in::uid, uid}}); };
    const std::uint32_t low = number(good(his(table_input(1))), l::create_flow_table_out::table_id);
    const std::uint32_t high = number(good(his(table_input(2))), l::create_flow_table_out::table_id);
    const std::uint32_t his_group = number(good(his(group_input(low, 0, 3))), l::create_flow_group_out::group_id);
    good(his(entry_input(low, his_group, 0, to_table, high)));
    EXPECT_EQ(run(entry_input(table, group, 2, to_tir, tir)).status, Status::no_res);
    good(0xa06, {{l::destroy_uctx_in::uid, uid}});
    good(entry_input(table, group, 2, to_tir, tir));
}

TEST_F(Flows, OtherPlacesThanTheReceivedPacketsAreNotThere)
{
    EXPECT_EQ(run(with(table_input(1), {{l::create_flow_table_in::table_type, 1}})).status, Status::bad_param);
    EXPECT_EQ(run(with(table_input(1), {{l::create_flow_table_in::other_vport, 1}})).status, Status::bad_param);
    for (const l::Field field :
         {l::flow_table_context::sw_owner, l::flow_table_context::decap_en, l::flow_table_context::termination_table})
        EXPECT_EQ(run(with(table_input(1), {{in_table(field), 1}})).status, Status::bad_param);
    EXPECT_EQ(run(with(table_input(1), {{in_table(l::flow_table_context::log_size), 21}})).status, Status::bad_param);
    EXPECT_EQ(set_root(77), Status::bad_res);
    EXPECT_EQ(set_root(0, 1), Status::ok) << "no root";
    EXPECT_EQ(set_root(make_table(1), 0, static_cast<std::uint16_t>(make_uctx())), Status::bad_param);
}

TEST_F(Flows, OfAUserGoWithHimInAnOrderThatWorks)
{
    const auto uid = static_cast<std::uint16_t>(make_uctx());
    const auto his = [uid](std::vector<std::byte> in) { return with(std::move(in), {{l::command_in::uid, uid}}); };
    const std::uint32_t low = number(good(his(table_input(1))), l::create_flow_table_out::table_id);
    const std::uint32_t group = number(good(his(group_input(low, 0, 3))), l::create_flow_group_out::group_id);
    // Newer than what leads there.
    const std::uint32_t high = number(good(his(table_input(2))), l::create_flow_table_out::table_id);
    good(his(entry_input(low, group, 0, to_table, high)));
    good(0xa06, {{l::destroy_uctx_in::uid, uid}});
    EXPECT_EQ(firmware_.context().objects.count(Kind::flow_table), 0U) << log_;
    EXPECT_EQ(firmware_.context().objects.count(Kind::flow_group), 0U) << log_;
}

} // namespace
} // namespace mrz::ethernet::test
