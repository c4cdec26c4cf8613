// SPDX-License-Identifier: BSD-3-Clause
#include <hca/status.hpp>

namespace mrz::hca {

std::string_view to_string(WcStatus status) noexcept
{
    switch (status) {
    case WcStatus::success:
        return "success";
    case WcStatus::local_length_error:
        return "local length error";
    case WcStatus::local_qp_operation_error:
        return "local QP operation error";
    case WcStatus::local_protection_error:
        return "local protection error";
    case WcStatus::flush_error:
        return "Work Request Flushed Error";
    case WcStatus::memory_management_error:
        return "memory management operation error";
    case WcStatus::bad_response_error:
        return "bad response error";
    case WcStatus::local_access_error:
        return "local access error";
    case WcStatus::remote_invalid_request_error:
        return "remote invalid request error";
    case WcStatus::remote_access_error:
        return "remote access error";
    case WcStatus::remote_operation_error:
        return "remote operation error";
    case WcStatus::retry_exceeded_error:
        return "transport retry counter exceeded";
    case WcStatus::rnr_retry_exceeded_error:
        return "RNR retry counter exceeded";
    case WcStatus::remote_abort_error:
        return "aborted error";
    case WcStatus::fatal_error:
        return "fatal error";
    case WcStatus::response_timeout_error:
        return "response timeout error";
    case WcStatus::general_error:
        return "general error";
    }
    return "unknown";
}

std::string_view to_string(WcOpcode opcode) noexcept
{
    switch (opcode) {
    case WcOpcode::send:
        return "send";
    case WcOpcode::rdma_write:
        return "RDMA write";
    case WcOpcode::rdma_read:
        return "RDMA read";
    case WcOpcode::compare_and_swap:
        return "compare and swap";
    case WcOpcode::fetch_and_add:
        return "fetch and add";
    case WcOpcode::receive:
        return "receive";
    case WcOpcode::receive_rdma_with_immediate:
        return "receive of RDMA write with immediate";
    }
    return "unknown";
}

std::string_view to_string(EventType type) noexcept
{
    switch (type) {
    case EventType::cq_error:
        return "CQ error";
    case EventType::qp_fatal:
        return "local work queue catastrophic error";
    case EventType::qp_request_error:
        return "invalid request local work queue error";
    case EventType::qp_access_error:
        return "local access violation work queue error";
    case EventType::sq_drained:
        return "send queue drained";
    case EventType::srq_limit_reached:
        return "SRQ limit reached";
    case EventType::qp_last_wqe_reached:
        return "last WQE reached";
    }
    return "unknown";
}

} // namespace mrz::hca
