// SPDX-License-Identifier: BSD-3-Clause
#include "departures.hpp"

#include <algorithm>
#include <cstdlib>

namespace mrz::test {
namespace {

// Debian's rxe, of Linux 6.1 and 6.12 (drivers/infiniband/sw/rxe), by the name that everybody gives its devices.
bool is_rxe(std::string_view device)
{
    return device.starts_with("rxe");
}

bool expects(const Cell& cell, WcStatus status)
{
    return std::ranges::find(cell.expected, status) != cell.expected.end();
}

bool is_one_of(WcStatus status, std::initializer_list<WcStatus> some)
{
    return std::ranges::find(some, status) != some.end();
}

bool is_atomic(const Cell& cell)
{
    return cell.row.find("compare and swap") != std::string::npos ||
           cell.row.find("fetch and add") != std::string::npos || cell.row.find("atomic") != std::string::npos;
}

} // namespace

Quirks quirks_of(std::string_view device)
{
    Quirks quirks;
    if (is_rxe(device))
        quirks = {
            .parts_before_refusal = true, .any_atomic_length = true, .long_reads_never_end = true, .slow = true};
    // Whoever runs this in an emulated guest, where each queue pair takes its time, says so.
    if (const char* steps = std::getenv("MRZ_CONFORMANCE_STEPS"); steps != nullptr) {
        quirks.slow = true;
        quirks.steps = static_cast<unsigned>(std::max(std::atoi(steps), 1));
    }
    return quirks;
}

std::string_view departure(std::string_view device, const Cell& cell)
{
    if (!is_rxe(device))
        return {};
    if (is_atomic(cell)) {
        if (expects(cell, WcStatus::local_length_error) &&
            is_one_of(cell.happened,
                      {WcStatus::success, WcStatus::local_protection_error, WcStatus::remote_access_error}))
            return "rxe does an atomic operation of eight bytes, whatever the length of its segment";
        return {};
    }
    // rxe_requester() and check_length() or copy_data() in rxe_responder(). 6.12 overwrites the sender's own error.
    if (expects(cell, WcStatus::local_protection_error) &&
        is_one_of(cell.happened, {WcStatus::local_qp_operation_error, WcStatus::flush_error}))
        return "rxe calls it a local QP operation error if a key does not let it read what it is to send, or write "
               "what it receives (and a flush error on the sending side, from Linux 6.12 at the latest)";
    if (expects(cell, WcStatus::local_length_error) && cell.happened == WcStatus::local_qp_operation_error)
        return "rxe calls it a local QP operation error if a message is longer than its receive";
    if (expects(cell, WcStatus::remote_invalid_request_error) && cell.happened == WcStatus::remote_operation_error)
        return "rxe tells the sender of a message that is longer than its receive of a remote operation error";
    return {};
}

} // namespace mrz::test
