// SPDX-License-Identifier: BSD-3-Clause
#include "words.hpp"

#include <cerrno>

namespace mrz::soft {

hca::SendOpcode to_engine(Opcode opcode)
{
    switch (opcode) {
    case Opcode::send:
        return hca::SendOpcode::send;
    case Opcode::send_with_immediate:
        return hca::SendOpcode::send_with_immediate;
    case Opcode::rdma_write:
        return hca::SendOpcode::rdma_write;
    case Opcode::rdma_write_with_immediate:
        return hca::SendOpcode::rdma_write_with_immediate;
    case Opcode::rdma_read:
        return hca::SendOpcode::rdma_read;
    case Opcode::atomic_compare_and_swap:
        return hca::SendOpcode::compare_and_swap;
    case Opcode::atomic_fetch_and_add:
        return hca::SendOpcode::fetch_and_add;
    }
    throw Error{EINVAL,
                {.trouble = Trouble::invalid,
                 .what = "posting a send request",
                 .limit = "there is no such operation",
                 .remedy = "use one of mrz::Opcode"}};
}

WcStatus from_engine(hca::WcStatus status) noexcept
{
    switch (status) {
    case hca::WcStatus::success:
        return WcStatus::success;
    case hca::WcStatus::local_length_error:
        return WcStatus::local_length_error;
    case hca::WcStatus::local_qp_operation_error:
        return WcStatus::local_qp_operation_error;
    case hca::WcStatus::local_protection_error:
        return WcStatus::local_protection_error;
    case hca::WcStatus::flush_error:
        return WcStatus::flush_error;
    case hca::WcStatus::bad_response_error:
        return WcStatus::bad_response_error;
    case hca::WcStatus::local_access_error:
        return WcStatus::local_access_error;
    case hca::WcStatus::remote_invalid_request_error:
        return WcStatus::remote_invalid_request_error;
    case hca::WcStatus::remote_access_error:
        return WcStatus::remote_access_error;
    case hca::WcStatus::remote_operation_error:
        return WcStatus::remote_operation_error;
    case hca::WcStatus::retry_exceeded_error:
        return WcStatus::retry_exceeded;
    case hca::WcStatus::rnr_retry_exceeded_error:
        return WcStatus::rnr_retry_exceeded;
    case hca::WcStatus::memory_management_error:
    case hca::WcStatus::remote_abort_error:
    case hca::WcStatus::fatal_error:
    case hca::WcStatus::response_timeout_error:
    case hca::WcStatus::general_error:
        break;
    }
    return WcStatus::general_error;
}

WcOpcode from_engine(hca::WcOpcode opcode) noexcept
{
    switch (opcode) {
    case hca::WcOpcode::send:
        return WcOpcode::send;
    case hca::WcOpcode::rdma_write:
        return WcOpcode::rdma_write;
    case hca::WcOpcode::rdma_read:
        return WcOpcode::rdma_read;
    case hca::WcOpcode::compare_and_swap:
    case hca::WcOpcode::fetch_and_add:
        return WcOpcode::atomic;
    case hca::WcOpcode::receive_rdma_with_immediate:
        return WcOpcode::receive_rdma_with_immediate;
    case hca::WcOpcode::receive:
        break;
    }
    return WcOpcode::receive;
}

} // namespace mrz::soft
