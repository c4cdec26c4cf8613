// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Work queues, receive memory pools, and the commands that carry them.
#pragma once

#include "layouts/field.hpp"

namespace mrz::layouts {

//! A work queue that is no queue pair.
namespace wq {
inline constexpr std::size_t bytes = 192;
inline constexpr Field wq_type{0, 4};
inline constexpr Field wq_signature{4, 1};
inline constexpr Field page_offset{43, 5};
inline constexpr Field lwm{48, 16};
inline constexpr Field pd{72, 24};
inline constexpr Field uar_page{104, 24};
inline constexpr Field dbr_addr{128, 64};
inline constexpr Field hw_counter{192, 32};
inline constexpr Field sw_counter{224, 32};
inline constexpr Field log_wq_stride{268, 4};
inline constexpr Field log_wq_pg_sz{275, 5};
inline constexpr Field log_wq_sz{283, 5};
inline constexpr Field dbr_umem_valid{288, 1};
inline constexpr Field wq_umem_valid{289, 1};
// Linux leaves umems to users of DevX, so its header does not name these; DPDK does (mlx5_prm.h).
inline constexpr Field dbr_umem_id{320, 32};    // not in the kernel header
inline constexpr Field wq_umem_id{352, 32};     // not in the kernel header
inline constexpr Field wq_umem_offset{384, 64}; // not in the kernel header
inline constexpr Block pas{192, 0};
} // namespace wq

//! A page.
namespace cmd_pas {
inline constexpr std::size_t bytes = 8;
inline constexpr Field pa_h{0, 32};
inline constexpr Field pa_l{32, 20};
} // namespace cmd_pas

//! A receive memory pool: a shared receive queue.
namespace rmpc {
inline constexpr std::size_t bytes = 240;
inline constexpr Field state{8, 4};
inline constexpr Field basic_cyclic_rcv_wqe{32, 1};
inline constexpr Block wq{48, 192};
} // namespace rmpc

//! CREATE_RMP.
namespace create_rmp_in {
inline constexpr std::size_t bytes = 272;
inline constexpr Field opcode{0, 16};
inline constexpr Field uid{16, 16};
inline constexpr Field op_mod{48, 16};
inline constexpr Block ctx{32, 240};
} // namespace create_rmp_in

//! Its answer.
namespace create_rmp_out {
inline constexpr std::size_t bytes = 16;
inline constexpr Field status{0, 8};
inline constexpr Field syndrome{32, 32};
inline constexpr Field rmpn{72, 24};
} // namespace create_rmp_out

//! What MODIFY_RMP changes.
namespace rmp_bitmask {
inline constexpr std::size_t bytes = 8;
inline constexpr Field lwm{63, 1};
} // namespace rmp_bitmask

//! MODIFY_RMP.
namespace modify_rmp_in {
inline constexpr std::size_t bytes = 272;
inline constexpr Field opcode{0, 16};
inline constexpr Field uid{16, 16};
inline constexpr Field op_mod{48, 16};
inline constexpr Field rmp_state{64, 4};
inline constexpr Field rmpn{72, 24};
inline constexpr Block bitmask{16, 8};
inline constexpr Block ctx{32, 240};
} // namespace modify_rmp_in

//! QUERY_RMP.
namespace query_rmp_in {
inline constexpr std::size_t bytes = 16;
inline constexpr Field opcode{0, 16};
inline constexpr Field op_mod{48, 16};
inline constexpr Field rmpn{72, 24};
} // namespace query_rmp_in

//! Its answer.
namespace query_rmp_out {
inline constexpr std::size_t bytes = 272;
inline constexpr Field status{0, 8};
inline constexpr Field syndrome{32, 32};
inline constexpr Block rmp_context{32, 240};
} // namespace query_rmp_out

//! DESTROY_RMP.
namespace destroy_rmp_in {
inline constexpr std::size_t bytes = 16;
inline constexpr Field opcode{0, 16};
inline constexpr Field uid{16, 16};
inline constexpr Field op_mod{48, 16};
inline constexpr Field rmpn{72, 24};
} // namespace destroy_rmp_in

} // namespace mrz::layouts
