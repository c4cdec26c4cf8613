// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Tables that received packets are looked up in.
#pragma once

#include "layouts/field.hpp"

namespace mrz::layouts {

namespace flow_table_context {
inline constexpr std::size_t bytes = 40;
inline constexpr Field reformat_en{0, 1};
inline constexpr Field decap_en{1, 1};
inline constexpr Field sw_owner{2, 1};
inline constexpr Field termination_table{3, 1};
inline constexpr Field table_miss_action{4, 4};
inline constexpr Field level{8, 8};
inline constexpr Field log_size{24, 8};
inline constexpr Field table_miss_id{40, 24};
inline constexpr Field lag_master_next_table_id{72, 24};
} // namespace flow_table_context

namespace create_flow_table_in {
inline constexpr std::size_t bytes = 64;
inline constexpr Field other_vport{64, 1};
inline constexpr Field vport_number{80, 16};
inline constexpr Field table_type{128, 8};
inline constexpr Block flow_table_context{24, 40};
} // namespace create_flow_table_in

namespace create_flow_table_out {
inline constexpr std::size_t bytes = 16;
inline constexpr Field table_id{72, 24};
} // namespace create_flow_table_out

namespace modify_flow_table_in {
inline constexpr std::size_t bytes = 64;
inline constexpr Field other_vport{64, 1};
inline constexpr Field vport_number{80, 16};
inline constexpr Field modify_field_select{112, 16};
inline constexpr Field table_type{128, 8};
inline constexpr Field table_id{168, 24};
inline constexpr Block flow_table_context{24, 40};
} // namespace modify_flow_table_in

namespace destroy_flow_table_in {
inline constexpr std::size_t bytes = 64;
inline constexpr Field other_vport{64, 1};
inline constexpr Field vport_number{80, 16};
inline constexpr Field table_type{128, 8};
inline constexpr Field table_id{168, 24};
} // namespace destroy_flow_table_in

namespace query_flow_table_in {
inline constexpr std::size_t bytes = 64;
inline constexpr Field table_type{128, 8};
inline constexpr Field table_id{168, 24};
} // namespace query_flow_table_in

namespace query_flow_table_out {
inline constexpr std::size_t bytes = 64;
inline constexpr Block flow_table_context{24, 40};
} // namespace query_flow_table_out

namespace set_flow_table_root_in {
inline constexpr std::size_t bytes = 64;
inline constexpr Field other_vport{64, 1};
inline constexpr Field vport_number{80, 16};
inline constexpr Field table_type{128, 8};
inline constexpr Field table_id{168, 24};
inline constexpr Field underlay_qpn{200, 24};
} // namespace set_flow_table_root_in

//! Entries of a table that compare the same fields.
namespace create_flow_group_in {
inline constexpr std::size_t bytes = 1024;
inline constexpr Field other_vport{64, 1};
inline constexpr Field vport_number{80, 16};
inline constexpr Field table_type{128, 8};
inline constexpr Field group_type{140, 4};
inline constexpr Field table_id{168, 24};
inline constexpr Field start_flow_index{224, 32};
inline constexpr Field end_flow_index{288, 32};
inline constexpr Field match_criteria_enable{504, 8};
inline constexpr Block match_criteria{64, 512};
} // namespace create_flow_group_in

namespace create_flow_group_out {
inline constexpr std::size_t bytes = 16;
inline constexpr Field group_id{72, 24};
} // namespace create_flow_group_out

namespace destroy_flow_group_in {
inline constexpr std::size_t bytes = 64;
inline constexpr Field other_vport{64, 1};
inline constexpr Field vport_number{80, 16};
inline constexpr Field table_type{128, 8};
inline constexpr Field table_id{168, 24};
inline constexpr Field group_id{192, 32};
} // namespace destroy_flow_group_in

//! SET_FLOW_TABLE_ENTRY.
namespace set_fte_in {
inline constexpr std::size_t bytes = 832;
inline constexpr Field other_vport{64, 1};
inline constexpr Field vport_number{80, 16};
inline constexpr Field table_type{128, 8};
inline constexpr Field table_id{168, 24};
inline constexpr Field ignore_flow_level{192, 1};
inline constexpr Field modify_enable_mask{216, 8};
inline constexpr Field flow_index{256, 32};
inline constexpr Block flow_context{64, 768};
} // namespace set_fte_in

namespace flow_context {
inline constexpr std::size_t bytes = 768;
inline constexpr Field group_id{32, 32};
inline constexpr Field flow_tag{72, 24};
inline constexpr Field action{112, 16};
inline constexpr Field extended_destination{128, 1};
inline constexpr Field destination_list_size{136, 24};
inline constexpr Field flow_counter_list_size{168, 24};
inline constexpr Field packet_reformat_id{192, 32};
inline constexpr Field modify_header_id{224, 32};
inline constexpr Block match_value{64, 512};
inline constexpr Block destination{768, 0};
} // namespace flow_context

namespace dest_format_struct {
inline constexpr std::size_t bytes = 8;
inline constexpr Field destination_type{0, 8};
inline constexpr Field destination_id{8, 24};
} // namespace dest_format_struct

namespace delete_fte_in {
inline constexpr std::size_t bytes = 64;
inline constexpr Field other_vport{64, 1};
inline constexpr Field vport_number{80, 16};
inline constexpr Field table_type{128, 8};
inline constexpr Field table_id{168, 24};
inline constexpr Field flow_index{256, 32};
} // namespace delete_fte_in

} // namespace mrz::layouts
