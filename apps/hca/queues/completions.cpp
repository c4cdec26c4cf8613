// SPDX-License-Identifier: BSD-3-Clause
#include "queues/completions.hpp"

#include "firmware/port.hpp"
#include "queues/roce_header.hpp"

#include <hca/queue_pair.hpp>

namespace mrz::queues {
namespace {

using namespace layouts;

Cqe begun(const Completed& work, CqeOpcode opcode)
{
    Cqe entry{};
    set(entry, cqe64::srqn, work.user_index);
    set(entry, cqe64::qpn, work.qpn);
    set(entry, cqe64::wqe_counter, work.entry);
    set(entry, cqe64::opcode, static_cast<std::uint8_t>(opcode));
    return entry;
}

// What adapters say besides the syndrome, as it is found in reports of their users; nothing depends on it.
std::uint8_t vendor_syndrome(CqeSyndrome syndrome)
{
    switch (syndrome) {
    case CqeSyndrome::local_qp_op:
        return 0x68;
    case CqeSyndrome::local_prot:
        return 0x52;
    case CqeSyndrome::wr_flush:
        return 0xf9;
    case CqeSyndrome::transport_retry_exc:
        return 0x81;
    case CqeSyndrome::rnr_retry_exc:
        return 0x87;
    case CqeSyndrome::remote_access:
        return 0x88;
    case CqeSyndrome::remote_op:
        return 0x89;
    case CqeSyndrome::remote_inval_req:
        return 0x8a;
    default:
        return 0;
    }
}

void fail(Cqe& entry, CqeSyndrome syndrome)
{
    set(entry, err_cqe::syndrome, static_cast<std::uint8_t>(syndrome));
    set(entry, err_cqe::vendor_err_synd, vendor_syndrome(syndrome));
}

CqeOpcode opcode_of(const hca::Completion& completion)
{
    if (completion.opcode == hca::WcOpcode::receive_rdma_with_immediate)
        return CqeOpcode::resp_wr_imm;
    return completion.has_immediate ? CqeOpcode::resp_send_imm : CqeOpcode::resp_send;
}

void tell_sender(Cqe& entry, const RoceSender& sender)
{
    set(entry, cqe64::roce_l3_type, static_cast<std::uint8_t>(sender.header));
    set(entry, cqe64::vlan_present, sender.vlan ? 1 : 0);
    set(entry, cqe64::vlan_info, sender.vlan.value_or(0));
}

} // namespace

CqeSyndrome syndrome_of(hca::WcStatus status) noexcept
{
    using hca::WcStatus;
    switch (status) {
    case WcStatus::local_length_error:
        return CqeSyndrome::local_length;
    case WcStatus::local_protection_error:
        return CqeSyndrome::local_prot;
    case WcStatus::flush_error:
        return CqeSyndrome::wr_flush;
    case WcStatus::memory_management_error:
        return CqeSyndrome::mw_bind;
    case WcStatus::bad_response_error:
        return CqeSyndrome::bad_resp;
    case WcStatus::local_access_error:
        return CqeSyndrome::local_access;
    case WcStatus::remote_invalid_request_error:
        return CqeSyndrome::remote_inval_req;
    case WcStatus::remote_access_error:
        return CqeSyndrome::remote_access;
    case WcStatus::remote_operation_error:
        return CqeSyndrome::remote_op;
    case WcStatus::retry_exceeded_error:
    case WcStatus::response_timeout_error:
        return CqeSyndrome::transport_retry_exc;
    case WcStatus::rnr_retry_exceeded_error:
        return CqeSyndrome::rnr_retry_exc;
    case WcStatus::remote_abort_error:
        return CqeSyndrome::remote_aborted;
    default:
        return CqeSyndrome::local_qp_op;
    }
}

Cqe send_done(const Completed& work, std::uint8_t opcode, std::uint32_t bytes)
{
    Cqe entry = begun(work, CqeOpcode::req);
    set(entry, cqe64::s_wqe_opcode, opcode);
    set(entry, cqe64::byte_cnt, bytes);
    return entry;
}

Cqe send_failed(const Completed& work, std::uint8_t opcode, CqeSyndrome syndrome)
{
    Cqe entry = begun(work, CqeOpcode::req_err);
    set(entry, cqe64::s_wqe_opcode, opcode);
    fail(entry, syndrome);
    return entry;
}

Cqe received(const Completed& work, const hca::Completion& completion, bool ethernet)
{
    if (completion.status != hca::WcStatus::success) {
        Cqe entry = begun(work, CqeOpcode::resp_err);
        fail(entry, syndrome_of(completion.status));
        return entry;
    }
    Cqe entry = begun(work, opcode_of(completion));
    set(entry, cqe64::byte_cnt, completion.byte_length);
    if (completion.has_immediate)
        set(entry, cqe64::immediate, completion.immediate);
    set(entry, cqe64::rqpn, completion.source_qpn);
    set(entry, cqe64::grh, completion.has_grh ? 1U : 0U);
    // The port's queue pair has no immediates: there the kernel looks for the partition (cq.c, handle_responder).
    if (completion.qpn == hca::general_services_qpn)
        set(entry, cqe64::pkey, firmware::default_pkey);
    if (ethernet)
        tell_sender(entry, roce_sender_of(completion.source_lid));
    else
        set(entry, cqe64::slid, completion.source_lid);
    return entry;
}

} // namespace mrz::queues
