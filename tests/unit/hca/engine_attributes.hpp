// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! What it takes to bring a connected queue pair up.
#pragma once

#include "memory.hpp"

#include <hca/queue_pair.hpp>

#include <cstdint>

namespace mrz::hca {

inline QpAttributes to_init_rc(KeyRights access = all_rights)
{
    return {.access = access};
}
inline QpAttributes to_rtr_rc(std::uint32_t peer, std::uint8_t min_rnr_timer = 1)
{
    return {.path_mtu = 4096,
            .destination_qpn = peer,
            .receive_psn = 0,
            .max_dest_rd_atomic = 16,
            .min_rnr_timer = min_rnr_timer};
}
inline QpAttributes to_rts_rc(std::uint8_t rnr_retry = 7, std::uint8_t timeout = 14, std::uint8_t retry_count = 7)
{
    return {
        .send_psn = 0, .max_rd_atomic = 16, .timeout = timeout, .retry_count = retry_count, .rnr_retry = rnr_retry};
}

} // namespace mrz::hca
