// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Doorbells: what a driver writes into a page of user access (UAR) of the BAR, and the records in its memory.
#pragma once

#include "layouts/field.hpp"

#include <cstddef>
#include <cstdint>

namespace mrz::layouts {

//! Offsets in a page of 4 KiB. A send doorbell is rung at the beginning of any of the buffers in the upper half; the
//! rest of a buffer takes the rest of an entry (BlueFlame), which is read from memory anyway.
inline constexpr std::uint64_t uar_cq_arm = 0x20;      //!< MLX5_CQ_DOORBELL: 8 bytes, cq_arm.
inline constexpr std::uint64_t uar_eq_arm = 0x40;      //!< MLX5_EQ_DOORBEL_OFFSET: 4 bytes, eq_doorbell.
inline constexpr std::uint64_t uar_eq_consumed = 0x48; //!< The same without arming.
inline constexpr std::uint64_t uar_send = 0x800;       //!< MLX5_BF_OFFSET: 8 bytes, the beginning of wqe_ctrl_seg.
inline constexpr std::uint64_t uar_send_stride = 0x100;
inline constexpr std::uint64_t uar_bytes = 0x1000;

//! mlx5_cq_arm of include/linux/mlx5/cq.h.
namespace cq_arm {
inline constexpr std::size_t bytes = 8;
inline constexpr Field sequence{2, 2};
inline constexpr Field solicited{7, 1};
inline constexpr Field consumer_index{8, 24};
inline constexpr Field cqn{40, 24};
} // namespace cq_arm

//! eq_update_ci of the kernel's drivers/net/ethernet/mellanox/mlx5/core/eq.c.
namespace eq_doorbell {
inline constexpr std::size_t bytes = 4;
inline constexpr Field eqn{0, 8};
inline constexpr Field consumer_index{8, 24};
} // namespace eq_doorbell

//! Records, of 8 bytes.
inline constexpr std::uint64_t cq_record_consumer_index = 0; //!< MLX5_CQ_SET_CI: 24 bits.
inline constexpr std::uint64_t cq_record_arm = 4;            //!< MLX5_CQ_ARM_DB
inline constexpr std::uint64_t qp_record_receive = 0;        //!< MLX5_RCV_DBR: 16 bits.
inline constexpr std::uint64_t qp_record_send = 4;           //!< MLX5_SND_DBR: 16 bits.

} // namespace mrz::layouts
