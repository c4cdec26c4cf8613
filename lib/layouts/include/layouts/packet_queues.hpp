// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Queues of Ethernet packets.
#pragma once

#include "layouts/field.hpp"

namespace mrz::layouts {

//! A send queue (SQ).
namespace sqc {
inline constexpr std::size_t bytes = 240;
inline constexpr Field rlky{0, 1};
inline constexpr Field cd_master{1, 1};
inline constexpr Field fre{2, 1};
inline constexpr Field flush_in_error_en{3, 1};
inline constexpr Field allow_multi_pkt_send_wqe{4, 1};
inline constexpr Field min_wqe_inline_mode{5, 3};
inline constexpr Field state{8, 4};
inline constexpr Field reg_umr{12, 1};
inline constexpr Field allow_swp{13, 1};
inline constexpr Field hairpin{14, 1};
inline constexpr Field ts_format{26, 2};
inline constexpr Field user_index{40, 24};
inline constexpr Field cqn{72, 24};
inline constexpr Field ts_cqe_to_dest_cqn{200, 24};
inline constexpr Field packet_pacing_rate_limit_index{240, 16};
inline constexpr Field tis_lst_sz{256, 16};
inline constexpr Field qos_queue_group_id{272, 16};
inline constexpr Field tis_num_0{360, 24};
inline constexpr Block wq{48, 192};
} // namespace sqc

namespace create_sq_in {
inline constexpr std::size_t bytes = 272;
inline constexpr Block ctx{32, 240};
} // namespace create_sq_in

namespace create_sq_out {
inline constexpr std::size_t bytes = 16;
inline constexpr Field sqn{72, 24};
} // namespace create_sq_out

namespace modify_sq_in {
inline constexpr std::size_t bytes = 272;
inline constexpr Field sq_state{64, 4};
inline constexpr Field sqn{72, 24};
inline constexpr Field modify_bitmask{128, 64};
inline constexpr Block ctx{32, 240};
} // namespace modify_sq_in

namespace destroy_sq_in {
inline constexpr std::size_t bytes = 16;
inline constexpr Field sqn{72, 24};
} // namespace destroy_sq_in

namespace query_sq_in {
inline constexpr std::size_t bytes = 16;
inline constexpr Field sqn{72, 24};
} // namespace query_sq_in

namespace query_sq_out {
inline constexpr std::size_t bytes = 272;
inline constexpr Block sq_context{32, 240};
} // namespace query_sq_out

//! A receive queue (RQ).
namespace rqc {
inline constexpr std::size_t bytes = 240;
inline constexpr Field rlky{0, 1};
inline constexpr Field delay_drop_en{1, 1};
inline constexpr Field scatter_fcs{2, 1};
inline constexpr Field vsd{3, 1};
inline constexpr Field mem_rq_type{4, 4};
inline constexpr Field state{8, 4};
inline constexpr Field flush_in_error_en{13, 1};
inline constexpr Field hairpin{14, 1};
inline constexpr Field ts_format{26, 2};
inline constexpr Field user_index{40, 24};
inline constexpr Field cqn{72, 24};
inline constexpr Field counter_set_id{96, 8};
inline constexpr Field rmpn{136, 24};
inline constexpr Block wq{48, 192};
} // namespace rqc

namespace create_rq_in {
inline constexpr std::size_t bytes = 272;
inline constexpr Block ctx{32, 240};
} // namespace create_rq_in

namespace create_rq_out {
inline constexpr std::size_t bytes = 16;
inline constexpr Field rqn{72, 24};
} // namespace create_rq_out

namespace modify_rq_in {
inline constexpr std::size_t bytes = 272;
inline constexpr Field rq_state{64, 4};
inline constexpr Field rqn{72, 24};
inline constexpr Field modify_bitmask{128, 64};
inline constexpr Block ctx{32, 240};
} // namespace modify_rq_in

namespace destroy_rq_in {
inline constexpr std::size_t bytes = 16;
inline constexpr Field rqn{72, 24};
} // namespace destroy_rq_in

namespace query_rq_in {
inline constexpr std::size_t bytes = 16;
inline constexpr Field rqn{72, 24};
} // namespace query_rq_in

namespace query_rq_out {
inline constexpr std::size_t bytes = 272;
inline constexpr Block rq_context{32, 240};
} // namespace query_rq_out

} // namespace mrz::layouts
