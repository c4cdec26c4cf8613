// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Queue pair contexts, and the commands that carry them.
#pragma once

#include "layouts/field.hpp"

namespace mrz::layouts {

//! Where a peer is.
namespace ads {
inline constexpr std::size_t bytes = 44;
inline constexpr Field fl{0, 1};
inline constexpr Field free_ar{1, 1};
inline constexpr Field pkey_index{16, 16};
inline constexpr Field grh{40, 1};
inline constexpr Field mlid{41, 7};
inline constexpr Field rlid{48, 16};
inline constexpr Field ack_timeout{64, 5};
inline constexpr Field src_addr_index{72, 8};
inline constexpr Field stat_rate{84, 4};
inline constexpr Field hop_limit{88, 8};
inline constexpr Field tclass{100, 8};
inline constexpr Field flow_label{108, 20};
inline constexpr Block rgid_rip{16, 16};
inline constexpr Field f_dscp{260, 1};
inline constexpr Field f_ecn{261, 1};
inline constexpr Field f_eth_prio{263, 1};
inline constexpr Field ecn{264, 2};
inline constexpr Field dscp{266, 6};
inline constexpr Field udp_sport{272, 16};
inline constexpr Field dei_cfi{288, 1};
inline constexpr Field eth_prio{289, 3};
inline constexpr Field sl{292, 4};
inline constexpr Field vhca_port_num{296, 8};
inline constexpr Field rmac_47_32{304, 16};
inline constexpr Field rmac_31_0{320, 32};
} // namespace ads

//! A queue pair.
namespace qpc {
inline constexpr std::size_t bytes = 232;
inline constexpr Field state{0, 4};
inline constexpr Field st{8, 8};
inline constexpr Field pm_state{19, 2};
inline constexpr Field wq_signature{32, 1};
inline constexpr Field pd{40, 24};
inline constexpr Field mtu{64, 3};
inline constexpr Field log_msg_max{67, 5};
inline constexpr Field log_rq_size{73, 4};
inline constexpr Field log_rq_stride{77, 3};
inline constexpr Field no_sq{80, 1};
inline constexpr Field log_sq_size{81, 4};
inline constexpr Field ts_format{88, 2};
inline constexpr Field rlky{91, 1};
inline constexpr Field counter_set_id{96, 8};
inline constexpr Field uar_page{104, 24};
inline constexpr Field user_index{136, 24};
inline constexpr Field log_page_size{163, 5};
inline constexpr Field remote_qpn{168, 24};
inline constexpr Block primary_address_path{24, 44};
inline constexpr Block secondary_address_path{68, 44};
inline constexpr Field log_sra_max{904, 3};
inline constexpr Field retry_count{909, 3};
inline constexpr Field rnr_retry{912, 3};
inline constexpr Field next_send_psn{968, 24};
inline constexpr Field cqn_snd{1000, 24};
inline constexpr Field deth_sqpn{1032, 24};
inline constexpr Field last_acked_psn{1096, 24};
inline constexpr Field ssn{1128, 24};
inline constexpr Field log_rra_max{1160, 3};
inline constexpr Field atomic_mode{1164, 4};
inline constexpr Field rre{1168, 1};
inline constexpr Field rwe{1169, 1};
inline constexpr Field rae{1170, 1};
inline constexpr Field page_offset{1172, 6};
inline constexpr Field min_rnr_nak{1187, 5};
inline constexpr Field next_rcv_psn{1192, 24};
inline constexpr Field xrcd{1224, 24};
inline constexpr Field cqn_rcv{1256, 24};
inline constexpr Field dbr_addr{1280, 64};
inline constexpr Field q_key{1344, 32};
inline constexpr Field rq_type{1381, 3};
inline constexpr Field srqn_rmpn_xrqn{1384, 24};
inline constexpr Field rmsn{1416, 24};
inline constexpr Field hw_sq_wqebb_counter{1440, 16};
inline constexpr Field sw_sq_wqebb_counter{1456, 16};
inline constexpr Field hw_rq_counter{1472, 32};
inline constexpr Field sw_rq_counter{1504, 32};
inline constexpr Field cs_req{1584, 8};
inline constexpr Field cs_res{1592, 8};
inline constexpr Field dbr_umem_valid{1667, 1};
// Linux leaves umems to users of DevX, so its header does not name these; DPDK does (mlx5_prm.h).
inline constexpr Field dbr_umem_id{1824, 32}; // not in the kernel header
} // namespace qpc

//! CREATE_QP.
namespace create_qp_in {
inline constexpr std::size_t bytes = 272;
inline constexpr Field opcode{0, 16};
inline constexpr Field uid{16, 16};
inline constexpr Field op_mod{48, 16};
inline constexpr Field input_qpn{72, 24};
inline constexpr Field opt_param_mask{128, 32};
inline constexpr Field ece{160, 32};
inline constexpr Block qpc{24, 232};
inline constexpr Field wq_umem_valid{2144, 1};
inline constexpr Field wq_umem_offset{2048, 64}; // not in the kernel header
inline constexpr Field wq_umem_id{2112, 32};     // not in the kernel header
inline constexpr Block pas{272, 0};
} // namespace create_qp_in

//! Its answer.
namespace create_qp_out {
inline constexpr std::size_t bytes = 16;
inline constexpr Field status{0, 8};
inline constexpr Field syndrome{32, 32};
inline constexpr Field qpn{72, 24};
inline constexpr Field ece{96, 32};
} // namespace create_qp_out

//! RST2INIT_QP; those of the other transitions are the same.
namespace rst2init_qp_in {
inline constexpr std::size_t bytes = 272;
inline constexpr Field opcode{0, 16};
inline constexpr Field uid{16, 16};
inline constexpr Field op_mod{48, 16};
inline constexpr Field qpn{72, 24};
inline constexpr Field opt_param_mask{128, 32};
inline constexpr Field ece{160, 32};
inline constexpr Block qpc{24, 232};
} // namespace rst2init_qp_in

//! Its answer.
namespace rst2init_qp_out {
inline constexpr std::size_t bytes = 16;
inline constexpr Field status{0, 8};
inline constexpr Field syndrome{32, 32};
inline constexpr Field ece{96, 32};
} // namespace rst2init_qp_out

//! 2RST_QP.
namespace qp_2rst_in {
inline constexpr std::size_t bytes = 16;
inline constexpr Field opcode{0, 16};
inline constexpr Field uid{16, 16};
inline constexpr Field op_mod{48, 16};
inline constexpr Field qpn{72, 24};
} // namespace qp_2rst_in

//! 2ERR_QP.
namespace qp_2err_in {
inline constexpr std::size_t bytes = 16;
inline constexpr Field opcode{0, 16};
inline constexpr Field uid{16, 16};
inline constexpr Field op_mod{48, 16};
inline constexpr Field qpn{72, 24};
} // namespace qp_2err_in

//! QUERY_QP.
namespace query_qp_in {
inline constexpr std::size_t bytes = 16;
inline constexpr Field opcode{0, 16};
inline constexpr Field op_mod{48, 16};
inline constexpr Field qpn{72, 24};
} // namespace query_qp_in

//! Its answer.
namespace query_qp_out {
inline constexpr std::size_t bytes = 272;
inline constexpr Field status{0, 8};
inline constexpr Field syndrome{32, 32};
inline constexpr Field opt_param_mask{128, 32};
inline constexpr Field ece{160, 32};
inline constexpr Block qpc{24, 232};
inline constexpr Block pas{272, 0};
} // namespace query_qp_out

//! DESTROY_QP.
namespace destroy_qp_in {
inline constexpr std::size_t bytes = 16;
inline constexpr Field opcode{0, 16};
inline constexpr Field uid{16, 16};
inline constexpr Field op_mod{48, 16};
inline constexpr Field qpn{72, 24};
} // namespace destroy_qp_in

} // namespace mrz::layouts
