// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! What a port is, and what it was told: for InfiniBand and for Ethernet.
#pragma once

#include "layouts/field.hpp"

namespace mrz::layouts {

namespace hca_vport_context {
inline constexpr std::size_t bytes = 512;
inline constexpr Field field_select{0, 32};
inline constexpr Field sm_virt_aware{256, 1};
inline constexpr Field has_smi{257, 1};
inline constexpr Field has_raw{258, 1};
inline constexpr Field grh_required{259, 1};
inline constexpr Field port_physical_state{272, 4};
inline constexpr Field vport_state_policy{276, 4};
inline constexpr Field port_state{280, 4};
inline constexpr Field vport_state{284, 4};
inline constexpr Field system_image_guid{320, 64};
inline constexpr Field port_guid{384, 64};
inline constexpr Field node_guid{448, 64};
inline constexpr Field cap_mask1{512, 32};
inline constexpr Field cap_mask1_field_select{544, 32};
inline constexpr Field cap_mask2{576, 32};
inline constexpr Field cap_mask2_field_select{608, 32};
inline constexpr Field lid{768, 16};
inline constexpr Field init_type_reply{788, 4};
inline constexpr Field lmc{792, 3};
inline constexpr Field subnet_timeout{795, 5};
inline constexpr Field sm_lid{800, 16};
inline constexpr Field sm_sl{816, 4};
inline constexpr Field qkey_violation_counter{832, 16};
inline constexpr Field pkey_violation_counter{848, 16};
} // namespace hca_vport_context

namespace query_hca_vport_context_in {
inline constexpr std::size_t bytes = 16;
inline constexpr Field other_vport{64, 1};
inline constexpr Field port_num{76, 4};
inline constexpr Field vport_number{80, 16};
} // namespace query_hca_vport_context_in

namespace query_hca_vport_context_out {
inline constexpr std::size_t bytes = 528;
inline constexpr Block hca_vport_context{16, 512};
} // namespace query_hca_vport_context_out

namespace modify_hca_vport_context_in {
inline constexpr std::size_t bytes = 528;
inline constexpr Field other_vport{64, 1};
inline constexpr Field port_num{76, 4};
inline constexpr Field vport_number{80, 16};
inline constexpr Block hca_vport_context{16, 512};
} // namespace modify_hca_vport_context_in

namespace query_hca_vport_gid_in {
inline constexpr std::size_t bytes = 16;
inline constexpr Field other_vport{64, 1};
inline constexpr Field port_num{76, 4};
inline constexpr Field vport_number{80, 16};
inline constexpr Field gid_index{112, 16};
} // namespace query_hca_vport_gid_in

namespace query_hca_vport_gid_out {
inline constexpr std::size_t bytes = 16;
inline constexpr Field gids_num{96, 16};
inline constexpr Block gid{16, 0};
} // namespace query_hca_vport_gid_out

namespace query_hca_vport_pkey_in {
inline constexpr std::size_t bytes = 16;
inline constexpr Field other_vport{64, 1};
inline constexpr Field port_num{76, 4};
inline constexpr Field vport_number{80, 16};
inline constexpr Field pkey_index{112, 16};
} // namespace query_hca_vport_pkey_in

namespace query_hca_vport_pkey_out {
inline constexpr std::size_t bytes = 16;
inline constexpr Block pkey{16, 0};
} // namespace query_hca_vport_pkey_out

namespace nic_vport_context {
inline constexpr std::size_t bytes = 256;
inline constexpr Field min_wqe_inline_mode{5, 3};
inline constexpr Field disable_mc_local_lb{29, 1};
inline constexpr Field disable_uc_local_lb{30, 1};
inline constexpr Field roce_en{31, 1};
inline constexpr Field arm_change_event{32, 1};
inline constexpr Field event_on_mtu{59, 1};
inline constexpr Field mtu{304, 16};
inline constexpr Field system_image_guid{320, 64};
inline constexpr Field port_guid{384, 64};
inline constexpr Field node_guid{448, 64};
inline constexpr Field qkey_violation_counter{832, 16};
inline constexpr Field promisc_uc{1920, 1};
inline constexpr Field promisc_mc{1921, 1};
inline constexpr Field promisc_all{1922, 1};
inline constexpr Field allowed_list_type{1925, 3};
inline constexpr Field allowed_list_size{1940, 12};
inline constexpr Block permanent_address{244, 8};
inline constexpr Block current_uc_mac_address{256, 0};
} // namespace nic_vport_context

namespace mac_address_layout {
inline constexpr std::size_t bytes = 8;
inline constexpr Field mac_addr_47_32{16, 16};
inline constexpr Field mac_addr_31_0{32, 32};
} // namespace mac_address_layout

namespace query_nic_vport_context_in {
inline constexpr std::size_t bytes = 16;
inline constexpr Field other_vport{64, 1};
inline constexpr Field vport_number{80, 16};
inline constexpr Field allowed_list_type{101, 3};
} // namespace query_nic_vport_context_in

namespace query_nic_vport_context_out {
inline constexpr std::size_t bytes = 272;
inline constexpr Block nic_vport_context{16, 256};
} // namespace query_nic_vport_context_out

namespace modify_nic_vport_context_in {
inline constexpr std::size_t bytes = 512;
inline constexpr Field other_vport{64, 1};
inline constexpr Field vport_number{80, 16};
inline constexpr Block field_select{12, 4};
inline constexpr Block nic_vport_context{256, 256};
} // namespace modify_nic_vport_context_in

namespace modify_nic_vport_field_select {
inline constexpr std::size_t bytes = 4;
inline constexpr Field disable_uc_local_lb{20, 1};
inline constexpr Field disable_mc_local_lb{21, 1};
inline constexpr Field node_guid{22, 1};
inline constexpr Field port_guid{23, 1};
inline constexpr Field min_inline{24, 1};
inline constexpr Field mtu{25, 1};
inline constexpr Field change_event{26, 1};
inline constexpr Field promisc{27, 1};
inline constexpr Field permanent_address{28, 1};
inline constexpr Field addresses_list{29, 1};
inline constexpr Field roce_en{30, 1};
} // namespace modify_nic_vport_field_select

namespace query_vport_state_in {
inline constexpr std::size_t bytes = 16;
inline constexpr Field other_vport{64, 1};
inline constexpr Field vport_number{80, 16};
} // namespace query_vport_state_in

namespace query_vport_state_out {
inline constexpr std::size_t bytes = 16;
inline constexpr Field admin_state{120, 4};
inline constexpr Field state{124, 4};
} // namespace query_vport_state_out

namespace modify_vport_state_in {
inline constexpr std::size_t bytes = 16;
inline constexpr Field other_vport{64, 1};
inline constexpr Field vport_number{80, 16};
inline constexpr Field admin_state{120, 4};
} // namespace modify_vport_state_in

namespace query_vport_counter_in {
inline constexpr std::size_t bytes = 32;
inline constexpr Field other_vport{64, 1};
inline constexpr Field port_num{76, 4};
inline constexpr Field vport_number{80, 16};
inline constexpr Field clear{192, 1};
} // namespace query_vport_counter_in

namespace query_vport_counter_out {
inline constexpr std::size_t bytes = 528;
inline constexpr Block received_errors{16, 16};
inline constexpr Block transmit_errors{32, 16};
inline constexpr Block received_ib_unicast{48, 16};
inline constexpr Block transmitted_ib_unicast{64, 16};
inline constexpr Block received_ib_multicast{80, 16};
inline constexpr Block transmitted_ib_multicast{96, 16};
inline constexpr Block received_eth_unicast{144, 16};
inline constexpr Block transmitted_eth_unicast{160, 16};
} // namespace query_vport_counter_out

namespace traffic_counter {
inline constexpr std::size_t bytes = 16;
inline constexpr Field packets{0, 64};
inline constexpr Field octets{64, 64};
} // namespace traffic_counter

namespace query_vnic_env_in {
inline constexpr std::size_t bytes = 16;
inline constexpr Field other_vport{64, 1};
inline constexpr Field vport_number{80, 16};
} // namespace query_vnic_env_in

namespace query_vnic_env_out {
inline constexpr std::size_t bytes = 528;
inline constexpr Block vport_env{16, 512};
} // namespace query_vnic_env_out

namespace mad_ifc_in {
inline constexpr std::size_t bytes = 272;
inline constexpr Field remote_lid{64, 16};
inline constexpr Field port{88, 8};
inline constexpr Block mad{16, 256};
} // namespace mad_ifc_in

namespace mad_ifc_out {
inline constexpr std::size_t bytes = 272;
inline constexpr Block response_mad_packet{16, 256};
} // namespace mad_ifc_out

namespace roce_addr_layout {
inline constexpr std::size_t bytes = 32;
inline constexpr Block source_l3_address{0, 16};
inline constexpr Field vlan_valid{131, 1};
inline constexpr Field vlan_id{132, 12};
inline constexpr Field source_mac_47_32{144, 16};
inline constexpr Field source_mac_31_0{160, 32};
inline constexpr Field roce_l3_type{212, 4};
inline constexpr Field roce_version{216, 8};
} // namespace roce_addr_layout

namespace set_roce_address_in {
inline constexpr std::size_t bytes = 48;
inline constexpr Field roce_address_index{64, 16};
inline constexpr Field vhca_port_num{92, 4};
inline constexpr Block roce_address{16, 32};
} // namespace set_roce_address_in

namespace query_roce_address_in {
inline constexpr std::size_t bytes = 16;
inline constexpr Field roce_address_index{64, 16};
inline constexpr Field vhca_port_num{92, 4};
} // namespace query_roce_address_in

namespace query_roce_address_out {
inline constexpr std::size_t bytes = 48;
inline constexpr Block roce_address{16, 32};
} // namespace query_roce_address_out

namespace pkey {
inline constexpr std::size_t bytes = 4;
inline constexpr Field pkey{16, 16};
} // namespace pkey

} // namespace mrz::layouts
