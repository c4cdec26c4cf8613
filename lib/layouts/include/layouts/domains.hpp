// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Objects that are little more than a number: domains, doorbell pages, user contexts, counters.
#pragma once

#include "layouts/field.hpp"

namespace mrz::layouts {

namespace alloc_pd_out {
inline constexpr std::size_t bytes = 16;
inline constexpr Field pd{72, 24};
} // namespace alloc_pd_out

namespace dealloc_pd_in {
inline constexpr std::size_t bytes = 16;
inline constexpr Field pd{72, 24};
} // namespace dealloc_pd_in

namespace alloc_uar_out {
inline constexpr std::size_t bytes = 16;
inline constexpr Field uar{72, 24};
} // namespace alloc_uar_out

namespace dealloc_uar_in {
inline constexpr std::size_t bytes = 16;
inline constexpr Field uar{72, 24};
} // namespace dealloc_uar_in

namespace alloc_transport_domain_out {
inline constexpr std::size_t bytes = 16;
inline constexpr Field transport_domain{72, 24};
} // namespace alloc_transport_domain_out

namespace dealloc_transport_domain_in {
inline constexpr std::size_t bytes = 16;
inline constexpr Field transport_domain{72, 24};
} // namespace dealloc_transport_domain_in

namespace alloc_xrcd_out {
inline constexpr std::size_t bytes = 16;
inline constexpr Field xrcd{72, 24};
} // namespace alloc_xrcd_out

namespace dealloc_xrcd_in {
inline constexpr std::size_t bytes = 16;
inline constexpr Field xrcd{72, 24};
} // namespace dealloc_xrcd_in

namespace uctx {
inline constexpr std::size_t bytes = 48;
inline constexpr Field cap{0, 32};
} // namespace uctx

namespace create_uctx_in {
inline constexpr std::size_t bytes = 64;
inline constexpr Block uctx{16, 48};
} // namespace create_uctx_in

namespace create_uctx_out {
inline constexpr std::size_t bytes = 16;
inline constexpr Field uid{80, 16};
} // namespace create_uctx_out

namespace destroy_uctx_in {
inline constexpr std::size_t bytes = 16;
inline constexpr Field uid{80, 16};
} // namespace destroy_uctx_in

namespace alloc_q_counter_out {
inline constexpr std::size_t bytes = 16;
inline constexpr Field counter_set_id{88, 8};
} // namespace alloc_q_counter_out

namespace dealloc_q_counter_in {
inline constexpr std::size_t bytes = 16;
inline constexpr Field counter_set_id{88, 8};
} // namespace dealloc_q_counter_in

namespace query_q_counter_in {
inline constexpr std::size_t bytes = 32;
inline constexpr Field clear{192, 1};
inline constexpr Field counter_set_id{248, 8};
} // namespace query_q_counter_in

namespace query_q_counter_out {
inline constexpr std::size_t bytes = 256;
inline constexpr Field rx_write_requests{128, 32};
inline constexpr Field rx_read_requests{192, 32};
inline constexpr Field rx_atomic_requests{256, 32};
inline constexpr Field out_of_buffer{384, 32};
inline constexpr Field out_of_sequence{448, 32};
inline constexpr Field duplicate_request{512, 32};
inline constexpr Field rnr_nak_retry_err{576, 32};
inline constexpr Field packet_seq_err{640, 32};
inline constexpr Field implied_nak_seq_err{704, 32};
inline constexpr Field local_ack_timeout_err{768, 32};
inline constexpr Field resp_local_length_error{960, 32};
inline constexpr Field resp_cqe_error{1152, 32};
inline constexpr Field req_cqe_error{1184, 32};
inline constexpr Field req_remote_invalid_request{1280, 32};
inline constexpr Field req_remote_access_errors{1344, 32};
inline constexpr Field resp_remote_access_errors{1376, 32};
inline constexpr Field resp_cqe_flush_error{1504, 32};
inline constexpr Field req_cqe_flush_error{1536, 32};
} // namespace query_q_counter_out

} // namespace mrz::layouts
