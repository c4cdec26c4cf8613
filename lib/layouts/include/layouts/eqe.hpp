// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Event queue entries. Names are those of mlx5_eqe and its parts in Linux's include/linux/mlx5/device.h, and a test
//! compares the two.
#pragma once

#include "layouts/field.hpp"

#include <cstddef>
#include <cstdint>

namespace mrz::layouts {

namespace eqe {
inline constexpr std::size_t bytes = 64;
inline constexpr Field type{8, 8};
inline constexpr Field sub_type{24, 8};
inline constexpr Block data{32, 28};
inline constexpr Field signature{496, 8};
inline constexpr Field owner{504, 8};
} // namespace eqe

// What data is, by type.

namespace eqe_comp {
inline constexpr std::size_t bytes = 28;
inline constexpr Field cqn{192, 32};
} // namespace eqe_comp

namespace eqe_qp_srq {
inline constexpr std::size_t bytes = 28;
inline constexpr Field type{160, 8}; //!< 0 for a queue pair (MLX5_EVENT_QUEUE_TYPE_QP).
inline constexpr Field qp_srq_n{192, 32};
} // namespace eqe_qp_srq

namespace eqe_cq_err {
inline constexpr std::size_t bytes = 12;
inline constexpr Field cqn{0, 32};
inline constexpr Field syndrome{88, 8};
} // namespace eqe_cq_err

namespace eqe_port_state {
inline constexpr std::size_t bytes = 9;
inline constexpr Field port{64, 8}; //!< Its number in the upper four bits.
} // namespace eqe_port_state

namespace eqe_cmd {
inline constexpr std::size_t bytes = 28;
inline constexpr Field vector{0, 32};
} // namespace eqe_cmd

namespace eqe_page_req {
inline constexpr std::size_t bytes = 28;
inline constexpr Field ec_function{0, 16};
inline constexpr Field func_id{16, 16};
inline constexpr Field num_pages{32, 32};
} // namespace eqe_page_req

//! MLX5_EVENT_TYPE_… of include/linux/mlx5/device.h.
enum class EventType : std::uint8_t {
    completion = 0x00,
    path_mig = 0x01,
    comm_est = 0x02,
    sq_drained = 0x03,
    cq_error = 0x04,
    wq_catas_error = 0x05,
    internal_error = 0x08,
    port_change = 0x09,
    command = 0x0a,
    page_request = 0x0b,
    wq_inval_req_error = 0x10,
    wq_access_error = 0x11,
    srq_catas_error = 0x12,
    srq_last_wqe = 0x13,
    srq_rq_limit = 0x14,
};

//! Of cq_error: the queue was full.
inline constexpr std::uint8_t cq_overrun_syndrome = 1;

//! Of port_change: MLX5_PORT_CHANGE_SUBTYPE_….
inline constexpr std::uint8_t port_change_down = 1;
inline constexpr std::uint8_t port_change_active = 4;
inline constexpr std::uint8_t port_change_lid = 6;
inline constexpr std::uint8_t port_change_guid = 8;

} // namespace mrz::layouts
