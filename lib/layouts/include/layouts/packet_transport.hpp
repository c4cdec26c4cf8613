// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! What packets are sent as, and how received ones are spread over queues.
#pragma once

#include "layouts/field.hpp"

namespace mrz::layouts {

//! How packets are sent (TIS).
namespace tisc {
inline constexpr std::size_t bytes = 160;
inline constexpr Field strict_lag_tx_port_affinity{0, 1};
inline constexpr Field tls_en{1, 1};
inline constexpr Field lag_tx_port_affinity{4, 4};
inline constexpr Field prio{12, 4};
inline constexpr Field transport_domain{296, 24};
inline constexpr Field underlay_qpn{328, 24};
inline constexpr Field pd{360, 24};
} // namespace tisc

namespace create_tis_in {
inline constexpr std::size_t bytes = 192;
inline constexpr Block ctx{32, 160};
} // namespace create_tis_in

namespace create_tis_out {
inline constexpr std::size_t bytes = 16;
inline constexpr Field tisn{72, 24};
} // namespace create_tis_out

namespace modify_tis_bitmask {
inline constexpr std::size_t bytes = 8;
inline constexpr Field lag_tx_port_affinity{61, 1};
inline constexpr Field strict_lag_tx_port_affinity{62, 1};
inline constexpr Field prio{63, 1};
} // namespace modify_tis_bitmask

namespace modify_tis_in {
inline constexpr std::size_t bytes = 192;
inline constexpr Field tisn{72, 24};
inline constexpr Block bitmask{16, 8};
inline constexpr Block ctx{32, 160};
} // namespace modify_tis_in

namespace destroy_tis_in {
inline constexpr std::size_t bytes = 16;
inline constexpr Field tisn{72, 24};
} // namespace destroy_tis_in

namespace query_tis_in {
inline constexpr std::size_t bytes = 16;
inline constexpr Field tisn{72, 24};
} // namespace query_tis_in

namespace query_tis_out {
inline constexpr std::size_t bytes = 176;
inline constexpr Block tis_context{16, 160};
} // namespace query_tis_out

//! Which queue takes a received packet (TIR).
namespace tirc {
inline constexpr std::size_t bytes = 240;
inline constexpr Field disp_type{32, 4};
inline constexpr Field tls_en{36, 1};
inline constexpr Field packet_merge_mask{148, 4};
inline constexpr Field inline_rqn{232, 24};
inline constexpr Field rx_hash_symmetric{256, 1};
inline constexpr Field tunneled_offload_en{258, 1};
inline constexpr Field indirect_table{264, 24};
inline constexpr Field rx_hash_fn{288, 4};
inline constexpr Field self_lb_block{294, 2};
inline constexpr Field transport_domain{296, 24};
inline constexpr Block rx_hash_toeplitz_key{40, 40};
inline constexpr Block rx_hash_field_selector_outer{80, 4};
inline constexpr Block rx_hash_field_selector_inner{84, 4};
} // namespace tirc

namespace create_tir_in {
inline constexpr std::size_t bytes = 272;
inline constexpr Block ctx{32, 240};
} // namespace create_tir_in

namespace create_tir_out {
inline constexpr std::size_t bytes = 16;
inline constexpr Field tirn{72, 24};
} // namespace create_tir_out

namespace modify_tir_bitmask {
inline constexpr std::size_t bytes = 8;
inline constexpr Field self_lb_en{59, 1};
inline constexpr Field hash{61, 1};
inline constexpr Field packet_merge{63, 1};
} // namespace modify_tir_bitmask

namespace modify_tir_in {
inline constexpr std::size_t bytes = 272;
inline constexpr Field tirn{72, 24};
inline constexpr Block bitmask{16, 8};
inline constexpr Block ctx{32, 240};
} // namespace modify_tir_in

namespace destroy_tir_in {
inline constexpr std::size_t bytes = 16;
inline constexpr Field tirn{72, 24};
} // namespace destroy_tir_in

namespace query_tir_in {
inline constexpr std::size_t bytes = 16;
inline constexpr Field tirn{72, 24};
} // namespace query_tir_in

namespace query_tir_out {
inline constexpr std::size_t bytes = 272;
inline constexpr Block tir_context{32, 240};
} // namespace query_tir_out

//! Receive queues that packets are spread over (RQT).
namespace rqtc {
inline constexpr std::size_t bytes = 240;
inline constexpr Field rqt_max_size{176, 16};
inline constexpr Field rqt_actual_size{208, 16};
inline constexpr Block rq_num{240, 0};
} // namespace rqtc

namespace rq_num {
inline constexpr std::size_t bytes = 4;
inline constexpr Field rq_num{8, 24};
} // namespace rq_num

namespace create_rqt_in {
inline constexpr std::size_t bytes = 272;
inline constexpr Block rqt_context{32, 240};
} // namespace create_rqt_in

namespace create_rqt_out {
inline constexpr std::size_t bytes = 16;
inline constexpr Field rqtn{72, 24};
} // namespace create_rqt_out

namespace rqt_bitmask {
inline constexpr std::size_t bytes = 8;
inline constexpr Field rqn_list{63, 1};
} // namespace rqt_bitmask

namespace modify_rqt_in {
inline constexpr std::size_t bytes = 272;
inline constexpr Field rqtn{72, 24};
inline constexpr Block bitmask{16, 8};
inline constexpr Block ctx{32, 240};
} // namespace modify_rqt_in

namespace destroy_rqt_in {
inline constexpr std::size_t bytes = 16;
inline constexpr Field rqtn{72, 24};
} // namespace destroy_rqt_in

namespace query_rqt_in {
inline constexpr std::size_t bytes = 16;
inline constexpr Field rqtn{72, 24};
} // namespace query_rqt_in

namespace query_rqt_out {
inline constexpr std::size_t bytes = 272;
inline constexpr Block rqt_context{32, 240};
} // namespace query_rqt_out

} // namespace mrz::layouts
