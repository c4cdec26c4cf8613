// SPDX-License-Identifier: BSD-3-Clause
#include <mrzone/device.hpp>

namespace mrz {

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
        return "flushed";
    case WcStatus::bad_response_error:
        return "bad response";
    case WcStatus::local_access_error:
        return "local access error";
    case WcStatus::remote_invalid_request_error:
        return "remote invalid request";
    case WcStatus::remote_access_error:
        return "remote access error";
    case WcStatus::remote_operation_error:
        return "remote operation error";
    case WcStatus::retry_exceeded:
        return "retries exceeded";
    case WcStatus::rnr_retry_exceeded:
        return "receiver-not-ready retries exceeded";
    case WcStatus::general_error:
        break;
    }
    return "general error";
}

} // namespace mrz
