// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Completion queue entries. Names are those of mlx5_cqe64 and mlx5_err_cqe in Linux's include/linux/mlx5/device.h,
//! and a test compares the two.
#pragma once

#include "layouts/field.hpp"

#include <cstddef>
#include <cstdint>

namespace mrz::layouts {

namespace cqe64 {
inline constexpr std::size_t bytes = 64;
inline constexpr Field ml_path{136, 8};
inline constexpr Field slid{176, 16};
inline constexpr Field flags_rqpn{192, 32};
inline constexpr Field grh{194, 2}; //!< Of flags_rqpn.
inline constexpr Field sl{196, 4};
inline constexpr Field roce_l3_type{198, 2}; //!< Over Ethernet instead: what a datagram's header is.
inline constexpr Field rqpn{200, 24};
inline constexpr Field vlan_present{239, 1}; //!< Of l4_l3_hdr_type.
inline constexpr Field vlan_info{240, 16};
//! The queue's number or, with cqe_version 1, its user_index.
inline constexpr Field srqn{264, 24};
inline constexpr Field immediate{288, 32};
inline constexpr Field pkey{288, 32}; //!< Instead: of what the port's queue pair 1 received.
inline constexpr Field byte_cnt{352, 32};
inline constexpr Field timestamp{384, 64};
inline constexpr Field s_wqe_opcode{448, 8};
inline constexpr Field qpn{456, 24};
inline constexpr Field wqe_counter{480, 16};
inline constexpr Field op_own{504, 8};
inline constexpr Field opcode{504, 4};
inline constexpr Field owner{511, 1};
} // namespace cqe64

//! What is elsewhere in a completion of what failed.
namespace err_cqe {
inline constexpr std::size_t bytes = 64;
inline constexpr Field vendor_err_synd{432, 8};
inline constexpr Field syndrome{440, 8};
} // namespace err_cqe

//! MLX5_CQE_… of include/linux/mlx5/cq.h.
enum class CqeOpcode : std::uint8_t {
    req = 0,
    resp_wr_imm = 1,
    resp_send = 2,
    resp_send_imm = 3,
    resize_cq = 5,
    req_err = 13,
    resp_err = 14,
    invalid = 15,
};

//! MLX5_CQE_SYNDROME_… of include/linux/mlx5/cq.h.
enum class CqeSyndrome : std::uint8_t {
    local_length = 0x01,
    local_qp_op = 0x02,
    local_prot = 0x04,
    wr_flush = 0x05,
    mw_bind = 0x06,
    bad_resp = 0x10,
    local_access = 0x11,
    remote_inval_req = 0x12,
    remote_access = 0x13,
    remote_op = 0x14,
    transport_retry_exc = 0x15,
    rnr_retry_exc = 0x16,
    remote_aborted = 0x22,
};

} // namespace mrz::layouts
