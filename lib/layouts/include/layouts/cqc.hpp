// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Completion queue contexts, and the commands that carry them.
#pragma once

#include "layouts/field.hpp"

namespace mrz::layouts {

//! A completion queue.
namespace cqc {
inline constexpr std::size_t bytes = 64;
inline constexpr Field status{0, 4};
inline constexpr Field dbr_umem_valid{6, 1};
inline constexpr Field apu_cq{7, 1};
inline constexpr Field cqe_sz{8, 3};
inline constexpr Field cc{11, 1};
inline constexpr Field scqe_break_moderation_en{13, 1};
inline constexpr Field oi{14, 1};
inline constexpr Field cq_period_mode{15, 2};
inline constexpr Field cqe_comp_en{17, 1};
inline constexpr Field mini_cqe_res_format{18, 2};
inline constexpr Field st{20, 4};
inline constexpr Field cqe_compression_layout{30, 2};
// Linux leaves umems to users of DevX, so its header does not name these; DPDK does (mlx5_prm.h).
inline constexpr Field dbr_umem_id{32, 32}; // not in the kernel header
inline constexpr Field page_offset{84, 6};
inline constexpr Field log_cq_size{99, 5};
inline constexpr Field uar_page{104, 24};
inline constexpr Field cq_period{132, 12};
inline constexpr Field cq_max_count{144, 16};
inline constexpr Field c_eqn_or_apu_element{160, 32};
inline constexpr Field log_page_size{195, 5};
inline constexpr Field last_notified_index{264, 24};
inline constexpr Field last_solicit_index{296, 24};
inline constexpr Field consumer_counter{328, 24};
inline constexpr Field producer_counter{360, 24};
inline constexpr Field dbr_addr{448, 64};
} // namespace cqc

//! CREATE_CQ.
namespace create_cq_in {
inline constexpr std::size_t bytes = 272;
inline constexpr Field opcode{0, 16};
inline constexpr Field uid{16, 16};
inline constexpr Field op_mod{48, 16};
inline constexpr Block cq_context{16, 64};
inline constexpr Field cq_umem_valid{736, 1};
inline constexpr Field cq_umem_offset{640, 64}; // not in the kernel header
inline constexpr Field cq_umem_id{704, 32};     // not in the kernel header
inline constexpr Block pas{272, 0};
} // namespace create_cq_in

//! Its answer.
namespace create_cq_out {
inline constexpr std::size_t bytes = 16;
inline constexpr Field status{0, 8};
inline constexpr Field syndrome{32, 32};
inline constexpr Field cqn{72, 24};
} // namespace create_cq_out

//! MODIFY_CQ.
namespace modify_cq_in {
inline constexpr std::size_t bytes = 272;
inline constexpr Field opcode{0, 16};
inline constexpr Field uid{16, 16};
inline constexpr Field op_mod{48, 16};
inline constexpr Field cqn{72, 24};
inline constexpr Block modify_field_select_resize_field_select{12, 4};
inline constexpr Block cq_context{16, 64};
inline constexpr Field cq_umem_valid{736, 1};
inline constexpr Field cq_umem_offset{640, 64}; // not in the kernel header
inline constexpr Field cq_umem_id{704, 32};     // not in the kernel header
inline constexpr Block pas{272, 0};
} // namespace modify_cq_in

//! QUERY_CQ.
namespace query_cq_in {
inline constexpr std::size_t bytes = 16;
inline constexpr Field opcode{0, 16};
inline constexpr Field op_mod{48, 16};
inline constexpr Field cqn{72, 24};
} // namespace query_cq_in

//! Its answer.
namespace query_cq_out {
inline constexpr std::size_t bytes = 272;
inline constexpr Field status{0, 8};
inline constexpr Field syndrome{32, 32};
inline constexpr Block cq_context{16, 64};
inline constexpr Block pas{272, 0};
} // namespace query_cq_out

//! DESTROY_CQ.
namespace destroy_cq_in {
inline constexpr std::size_t bytes = 16;
inline constexpr Field opcode{0, 16};
inline constexpr Field uid{16, 16};
inline constexpr Field op_mod{48, 16};
inline constexpr Field cqn{72, 24};
} // namespace destroy_cq_in

} // namespace mrz::layouts
