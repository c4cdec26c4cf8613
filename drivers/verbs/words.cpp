// SPDX-License-Identifier: BSD-3-Clause
#include "words.hpp"

#include <cerrno>

namespace mrz::verbs {

unsigned to_verbs(Access access, const RegisterOptions& options, bool may_relax) noexcept
{
    unsigned flags = 0;
    if (grants(access, Access::local_write))
        flags |= IBV_ACCESS_LOCAL_WRITE;
    if (grants(access, Access::remote_read))
        flags |= IBV_ACCESS_REMOTE_READ;
    if (grants(access, Access::remote_write))
        flags |= IBV_ACCESS_REMOTE_WRITE;
    if (grants(access, Access::remote_atomic))
        flags |= IBV_ACCESS_REMOTE_ATOMIC;
    if (options.paging == Paging::on_demand)
        flags |= IBV_ACCESS_ON_DEMAND;
    if (options.ordering != Ordering::strict && may_relax)
        flags |= IBV_ACCESS_RELAXED_ORDERING;
    return flags;
}

unsigned to_send_flags(const SendRequest& request) noexcept
{
    unsigned flags = 0;
    if (request.signaled)
        flags |= IBV_SEND_SIGNALED;
    if (request.inlined)
        flags |= IBV_SEND_INLINE;
    if (request.solicited)
        flags |= IBV_SEND_SOLICITED;
    if (request.fence)
        flags |= IBV_SEND_FENCE;
    return flags;
}

ibv_wr_opcode to_verbs(Opcode opcode)
{
    switch (opcode) {
    case Opcode::send:
        return IBV_WR_SEND;
    case Opcode::send_with_immediate:
        return IBV_WR_SEND_WITH_IMM;
    case Opcode::rdma_write:
        return IBV_WR_RDMA_WRITE;
    case Opcode::rdma_write_with_immediate:
        return IBV_WR_RDMA_WRITE_WITH_IMM;
    case Opcode::rdma_read:
        return IBV_WR_RDMA_READ;
    case Opcode::atomic_compare_and_swap:
        return IBV_WR_ATOMIC_CMP_AND_SWP;
    case Opcode::atomic_fetch_and_add:
        return IBV_WR_ATOMIC_FETCH_AND_ADD;
    }
    throw Error{EINVAL,
                {.trouble = Trouble::invalid,
                 .what = "posting a send request",
                 .limit = "there is no such operation",
                 .remedy = "use one of mrz::Opcode"}};
}

WcStatus from_verbs(ibv_wc_status status) noexcept
{
    switch (status) {
    case IBV_WC_SUCCESS:
        return WcStatus::success;
    case IBV_WC_LOC_LEN_ERR:
        return WcStatus::local_length_error;
    case IBV_WC_LOC_QP_OP_ERR:
        return WcStatus::local_qp_operation_error;
    case IBV_WC_LOC_PROT_ERR:
        return WcStatus::local_protection_error;
    case IBV_WC_WR_FLUSH_ERR:
        return WcStatus::flush_error;
    case IBV_WC_BAD_RESP_ERR:
        return WcStatus::bad_response_error;
    case IBV_WC_LOC_ACCESS_ERR:
        return WcStatus::local_access_error;
    case IBV_WC_REM_INV_REQ_ERR:
        return WcStatus::remote_invalid_request_error;
    case IBV_WC_REM_ACCESS_ERR:
        return WcStatus::remote_access_error;
    case IBV_WC_REM_OP_ERR:
        return WcStatus::remote_operation_error;
    case IBV_WC_RETRY_EXC_ERR:
        return WcStatus::retry_exceeded;
    case IBV_WC_RNR_RETRY_EXC_ERR:
        return WcStatus::rnr_retry_exceeded;
    default: // of windows, other kinds of queue pairs, tag matching, and what newer ones bring
        return WcStatus::general_error;
    }
}

WcOpcode from_verbs(ibv_wc_opcode opcode) noexcept
{
    switch (opcode) {
    case IBV_WC_RDMA_WRITE:
        return WcOpcode::rdma_write;
    case IBV_WC_RDMA_READ:
        return WcOpcode::rdma_read;
    case IBV_WC_COMP_SWAP:
    case IBV_WC_FETCH_ADD:
        return WcOpcode::atomic;
    case IBV_WC_RECV:
        return WcOpcode::receive;
    case IBV_WC_RECV_RDMA_WITH_IMM:
        return WcOpcode::receive_rdma_with_immediate;
    default:
        return WcOpcode::send;
    }
}

} // namespace mrz::verbs
