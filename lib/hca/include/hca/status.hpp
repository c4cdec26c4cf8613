// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! How work ends and what happens besides: completion statuses and opcodes, asynchronous events. Names and numbers
//! are those of rdma-core's ibv_wc_status, ibv_wc_opcode and ibv_event_type.
#pragma once

#include <cstdint>
#include <string_view>

namespace mrz::hca {

enum class WcStatus : std::uint8_t {
    success = 0,
    local_length_error = 1,
    local_qp_operation_error = 2,
    local_protection_error = 4,
    flush_error = 5,
    memory_management_error = 6,
    bad_response_error = 7,
    local_access_error = 8,
    remote_invalid_request_error = 9,
    remote_access_error = 10,
    remote_operation_error = 11,
    retry_exceeded_error = 12,
    rnr_retry_exceeded_error = 13,
    remote_abort_error = 16,
    fatal_error = 19,
    response_timeout_error = 20,
    general_error = 21,
};
//! The wording of ibv_wc_status_str.
std::string_view to_string(WcStatus status) noexcept;

enum class WcOpcode : std::uint8_t {
    send = 0,
    rdma_write = 1,
    rdma_read = 2,
    compare_and_swap = 3,
    fetch_and_add = 4,
    receive = 128,
    receive_rdma_with_immediate = 129,
};
std::string_view to_string(WcOpcode opcode) noexcept;

enum class EventType : std::uint8_t {
    cq_error = 0,
    qp_fatal = 1,
    qp_request_error = 2,
    qp_access_error = 3,
    sq_drained = 5,
    srq_limit_reached = 15,
    qp_last_wqe_reached = 16,
};
//! The wording of ibv_event_type_str.
std::string_view to_string(EventType type) noexcept;

//! Something that no completion tells.
struct Event {
    EventType type;
    std::uint32_t number; //!< Of the queue pair, completion queue or shared receive queue that it happened to.

    friend bool operator==(const Event&, const Event&) = default;
};

} // namespace mrz::hca
