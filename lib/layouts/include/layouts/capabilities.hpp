// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! What a device can do: groups of QUERY_HCA_CAP, and the fields of them that this one sets or heeds.
#pragma once

#include "layouts/field.hpp"

namespace mrz::layouts {

namespace cmd_hca_cap {
inline constexpr std::size_t bytes = 256;
inline constexpr Field log_max_srq_sz{128, 8};
inline constexpr Field log_max_qp_sz{136, 8};
inline constexpr Field log_max_qp{155, 5};
inline constexpr Field log_max_srq{171, 5};
inline constexpr Field max_sgl_for_optimized_performance{192, 8};
inline constexpr Field log_max_cq_sz{200, 8};
inline constexpr Field log_max_cq{219, 5};
inline constexpr Field log_max_eq_sz{224, 8};
inline constexpr Field relaxed_ordering_write{232, 1};
inline constexpr Field relaxed_ordering_read{233, 1};
inline constexpr Field log_max_mkey{234, 6};
inline constexpr Field dump_fill_mkey{248, 1};
inline constexpr Field fast_teardown{251, 1};
inline constexpr Field log_max_eq{252, 4};
inline constexpr Field max_indirection{256, 8};
inline constexpr Field fixed_buffer_size{264, 1};
inline constexpr Field log_max_mrw_sz{265, 7};
inline constexpr Field umr_extended_translation_offset{280, 1};
inline constexpr Field null_mkey{281, 1};
inline constexpr Field log_max_klm_list_size{282, 6};
inline constexpr Field release_all_pages{325, 1};
inline constexpr Field log_max_ra_req_qp{330, 6};
inline constexpr Field log_max_ra_res_qp{346, 6};
inline constexpr Field gid_table_size{368, 16};
inline constexpr Field vport_counters{385, 1};
inline constexpr Field max_qp_cnt{390, 10};
inline constexpr Field pkey_table_size{400, 16};
inline constexpr Field ib_virt{418, 1};
inline constexpr Field local_ca_ack_delay{427, 5};
inline constexpr Field port_type{438, 2};
inline constexpr Field num_ports{440, 8};
inline constexpr Field log_max_msg{451, 5};
inline constexpr Field cqe_version{508, 4};
inline constexpr Field compact_address_vector{512, 1};
inline constexpr Field umr_modify_entity_size_disabled{519, 1};
inline constexpr Field umr_modify_atomic_disabled{520, 1};
inline constexpr Field umr_indirect_mkey_disabled{521, 1};
inline constexpr Field umr_fence{522, 2};
inline constexpr Field cmdif_checksum{528, 2};
inline constexpr Field sctr_data_cqe{533, 1};
inline constexpr Field roce{541, 1};
inline constexpr Field atomic{542, 1};
inline constexpr Field cq_oi{544, 1};
inline constexpr Field cq_resize{545, 1};
inline constexpr Field cq_moderation{546, 1};
inline constexpr Field imaicl{561, 1};
inline constexpr Field qkv{566, 1};
inline constexpr Field pkv{567, 1};
inline constexpr Field set_deth_sqpn{568, 1};
inline constexpr Field xrc{572, 1};
inline constexpr Field ud{573, 1};
inline constexpr Field uc{574, 1};
inline constexpr Field rc{575, 1};
inline constexpr Field uar_4k{576, 1};
inline constexpr Field uar_sz{586, 6};
inline constexpr Field umem_uid_0{594, 1};
inline constexpr Field log_pg_sz{600, 8};
inline constexpr Field bf{608, 1};
inline constexpr Field driver_version{609, 1};
inline constexpr Field log_bf_reg_size{619, 5};
inline constexpr Field max_wqe_sz_sq{656, 16};
inline constexpr Field max_wqe_sz_rq{688, 16};
inline constexpr Field log_max_pd{811, 5};
inline constexpr Field log_max_xrcd{827, 5};
inline constexpr Field log_max_transport_domain{803, 5};
inline constexpr Field log_max_rmp{899, 5};
inline constexpr Field log_max_wq_sz{987, 5};
inline constexpr Field basic_cyclic_rcv_wqe{896, 1};
inline constexpr Field log_max_uctx{1123, 5};
inline constexpr Field log_max_umem{1131, 5};
inline constexpr Field max_num_eqs{1136, 16};
inline constexpr Field log_uar_page_sz{1168, 16};
inline constexpr Field device_frequency_mhz{1216, 32};
inline constexpr Field device_frequency_khz{1248, 32};
inline constexpr Field num_of_uars_per_page{1312, 32};
inline constexpr Field uctx_cap{1696, 32};
inline constexpr Field eth_net_offloads{540, 1};
inline constexpr Field nic_flow_table{422, 1};
inline constexpr Field log_max_rq{867, 5};
inline constexpr Field log_max_sq{875, 5};
inline constexpr Field log_max_tis{891, 5};
inline constexpr Field log_max_tir{883, 5};
inline constexpr Field log_max_rqt{907, 5};
inline constexpr Field log_max_current_uc_list{1019, 5};
inline constexpr Field log_max_current_mc_list{1011, 5};
inline constexpr Field log_max_vlan_list{1003, 5};
inline constexpr Field log_max_rqt_size{915, 5};
inline constexpr Field log_max_tis_per_sq{923, 5};
} // namespace cmd_hca_cap

namespace flow_table_prop_layout {
inline constexpr std::size_t bytes = 64;
inline constexpr Field ft_support{0, 1};
inline constexpr Field modify_root{4, 1};
inline constexpr Field identified_miss_table_mode{5, 1};
inline constexpr Field flow_table_modify{6, 1};
inline constexpr Field log_max_ft_size{34, 6};
inline constexpr Field max_ft_level{56, 8};
inline constexpr Field log_max_ft_num{120, 8};
inline constexpr Field log_max_destination{152, 8};
inline constexpr Field log_max_flow{184, 8};
} // namespace flow_table_prop_layout

//! Of 4096 bytes that begin so.
namespace flow_table_nic_cap {
inline constexpr std::size_t bytes = 4096;
inline constexpr Block flow_table_properties_nic_receive{64, 64};
} // namespace flow_table_nic_cap

namespace per_protocol_networking_offload_caps {
inline constexpr std::size_t bytes = 256;
inline constexpr Field csum_cap{0, 1};
inline constexpr Field vlan_cap{1, 1};
inline constexpr Field self_lb_en_modifiable{8, 1};
inline constexpr Field max_lso_cap{11, 5};
inline constexpr Field wqe_inline_mode{18, 2};
inline constexpr Field rss_ind_tbl_cap{20, 4};
} // namespace per_protocol_networking_offload_caps

namespace odp_per_transport_service_cap {
inline constexpr std::size_t bytes = 4;
inline constexpr Field send{0, 1};
inline constexpr Field receive{1, 1};
inline constexpr Field write{2, 1};
inline constexpr Field read{3, 1};
inline constexpr Field atomic{4, 1};
inline constexpr Field srq_receive{5, 1};
} // namespace odp_per_transport_service_cap

namespace odp_cap {
inline constexpr std::size_t bytes = 256;
inline constexpr Field sig{64, 1};
inline constexpr Block rc_odp_caps{16, 4};
inline constexpr Block uc_odp_caps{20, 4};
inline constexpr Block ud_odp_caps{24, 4};
inline constexpr Block xrc_odp_caps{28, 4};
inline constexpr Block dc_odp_caps{32, 4};
} // namespace odp_cap

namespace atomic_caps {
inline constexpr std::size_t bytes = 256;
inline constexpr Field atomic_req_8B_endianness_mode{64, 2};
inline constexpr Field supported_atomic_req_8B_endianness_mode_1{70, 1};
inline constexpr Field atomic_operations{144, 16};
inline constexpr Field atomic_size_qp{176, 16};
inline constexpr Field atomic_size_dc{208, 16};
} // namespace atomic_caps

namespace roce_cap {
inline constexpr std::size_t bytes = 256;
inline constexpr Field roce_apm{0, 1};
inline constexpr Field sw_r_roce_src_udp_port{4, 1};
inline constexpr Field l3_type{140, 4};
inline constexpr Field roce_version{152, 8};
inline constexpr Field r_roce_dest_udp_port{176, 16};
inline constexpr Field r_roce_max_src_udp_port{192, 16};
inline constexpr Field r_roce_min_src_udp_port{208, 16};
inline constexpr Field roce_address_table_size{240, 16};
} // namespace roce_cap

} // namespace mrz::layouts
