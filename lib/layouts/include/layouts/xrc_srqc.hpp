// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Shared receive queues of extended reliable connections, and the commands that carry them.
#pragma once

#include "layouts/field.hpp"

namespace mrz::layouts {

//! A shared receive queue.
namespace xrc_srqc {
inline constexpr std::size_t bytes = 64;
inline constexpr Field state{0, 4};
inline constexpr Field log_xrc_srq_size{4, 4};
inline constexpr Field wq_signature{32, 1};
inline constexpr Field cont_srq{33, 1};
inline constexpr Field rlky{35, 1};
inline constexpr Field basic_cyclic_rcv_wqe{36, 1};
inline constexpr Field log_rq_stride{37, 3};
inline constexpr Field xrcd{40, 24};
inline constexpr Field page_offset{64, 6};
inline constexpr Field dbr_umem_valid{71, 1};
inline constexpr Field cqn{72, 24};
inline constexpr Field user_index_equal_xrc_srqn{128, 1};
inline constexpr Field log_page_size{130, 6};
inline constexpr Field user_index{136, 24};
inline constexpr Field pd{200, 24};
inline constexpr Field lwm{224, 16};
inline constexpr Field wqe_cnt{240, 16};
inline constexpr Field db_record_addr_h{320, 32};
inline constexpr Field db_record_addr_l{352, 30};
} // namespace xrc_srqc

//! CREATE_XRC_SRQ.
namespace create_xrc_srq_in {
inline constexpr std::size_t bytes = 272;
inline constexpr Field opcode{0, 16};
inline constexpr Field uid{16, 16};
inline constexpr Field op_mod{48, 16};
inline constexpr Block xrc_srq_context_entry{16, 64};
inline constexpr Field xrc_srq_umem_valid{736, 1};
inline constexpr Block pas{272, 0};
} // namespace create_xrc_srq_in

//! Its answer.
namespace create_xrc_srq_out {
inline constexpr std::size_t bytes = 16;
inline constexpr Field status{0, 8};
inline constexpr Field syndrome{32, 32};
inline constexpr Field xrc_srqn{72, 24};
} // namespace create_xrc_srq_out

//! ARM_XRC_SRQ.
namespace arm_xrc_srq_in {
inline constexpr std::size_t bytes = 16;
inline constexpr Field opcode{0, 16};
inline constexpr Field uid{16, 16};
inline constexpr Field op_mod{48, 16};
inline constexpr Field xrc_srqn{72, 24};
inline constexpr Field lwm{112, 16};
} // namespace arm_xrc_srq_in

//! QUERY_XRC_SRQ.
namespace query_xrc_srq_in {
inline constexpr std::size_t bytes = 16;
inline constexpr Field opcode{0, 16};
inline constexpr Field op_mod{48, 16};
inline constexpr Field xrc_srqn{72, 24};
} // namespace query_xrc_srq_in

//! Its answer.
namespace query_xrc_srq_out {
inline constexpr std::size_t bytes = 272;
inline constexpr Field status{0, 8};
inline constexpr Field syndrome{32, 32};
inline constexpr Block xrc_srq_context_entry{16, 64};
inline constexpr Block pas{272, 0};
} // namespace query_xrc_srq_out

//! DESTROY_XRC_SRQ.
namespace destroy_xrc_srq_in {
inline constexpr std::size_t bytes = 16;
inline constexpr Field opcode{0, 16};
inline constexpr Field uid{16, 16};
inline constexpr Field op_mod{48, 16};
inline constexpr Field xrc_srqn{72, 24};
} // namespace destroy_xrc_srq_in

} // namespace mrz::layouts
