// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Memory keys, and the memory that user contexts describe (umems).
#pragma once

#include "layouts/field.hpp"

namespace mrz::layouts {

//! A memory key's context.
namespace mkc {
inline constexpr std::size_t bytes = 64;
inline constexpr Field free{1, 1};
inline constexpr Field access_mode_4_2{3, 3};
inline constexpr Field relaxed_ordering_write{13, 1};
inline constexpr Field small_fence_on_rdma_read_response{15, 1};
inline constexpr Field umr_en{16, 1};
inline constexpr Field a{17, 1};
inline constexpr Field rw{18, 1};
inline constexpr Field rr{19, 1};
inline constexpr Field lw{20, 1};
inline constexpr Field lr{21, 1};
inline constexpr Field access_mode_1_0{22, 2};
inline constexpr Field ma_translation_mode{26, 2};
inline constexpr Field qpn{32, 24};
inline constexpr Field mkey_7_0{56, 8};
inline constexpr Field length64{96, 1};
inline constexpr Field bsf_en{97, 1};
inline constexpr Field sync_umr{98, 1};
inline constexpr Field expected_sigerr_count{101, 1};
inline constexpr Field en_rinval{103, 1};
inline constexpr Field pd{104, 24};
inline constexpr Field start_addr{128, 64};
inline constexpr Field len{192, 64};
inline constexpr Field bsf_octword_size{256, 32};
inline constexpr Field translations_octword_size{416, 32};
inline constexpr Field relaxed_ordering_read{473, 1};
inline constexpr Field log_page_size{474, 6}; // {475, 5} before Linux 6.13
} // namespace mkc

namespace create_mkey_in {
inline constexpr std::size_t bytes = 272;
inline constexpr Field pg_access{96, 1};
inline constexpr Field mkey_umem_valid{97, 1};
inline constexpr Block memory_key_mkey_entry{16, 64};
inline constexpr Field translations_octword_actual_size{768, 32};
// Linux leaves these two to users of DevX, so its header does not name them; DPDK does (mlx5_prm.h).
inline constexpr Field mkey_umem_id{800, 32};     // not in the kernel header
inline constexpr Field mkey_umem_offset{832, 64}; // not in the kernel header
inline constexpr Block klm_pas_mtt{272, 0};
} // namespace create_mkey_in

namespace create_mkey_out {
inline constexpr std::size_t bytes = 16;
inline constexpr Field mkey_index{72, 24};
} // namespace create_mkey_out

namespace query_mkey_in {
inline constexpr std::size_t bytes = 16;
inline constexpr Field mkey_index{72, 24};
inline constexpr Field pg_access{96, 1};
} // namespace query_mkey_in

namespace query_mkey_out {
inline constexpr std::size_t bytes = 304;
inline constexpr Block memory_key_mkey_entry{16, 64};
inline constexpr Block bsf0_klm0_pas_mtt0_1{272, 16};
inline constexpr Block bsf1_klm1_pas_mtt2_3{288, 16};
} // namespace query_mkey_out

namespace destroy_mkey_in {
inline constexpr std::size_t bytes = 16;
inline constexpr Field mkey_index{72, 24};
} // namespace destroy_mkey_in

namespace umem {
inline constexpr std::size_t bytes = 32;
inline constexpr Field ats{128, 1};
inline constexpr Field log_page_size{155, 5};
inline constexpr Field page_offset{160, 32};
inline constexpr Field num_of_mtt{192, 64};
inline constexpr Block mtt{32, 0};
} // namespace umem

namespace create_umem_in {
inline constexpr std::size_t bytes = 48;
inline constexpr Block umem{16, 0}; // with its pages
} // namespace create_umem_in

namespace create_umem_out {
inline constexpr std::size_t bytes = 16;
inline constexpr Field umem_id{72, 24};
} // namespace create_umem_out

namespace destroy_umem_in {
inline constexpr std::size_t bytes = 16;
inline constexpr Field umem_id{72, 24};
} // namespace destroy_umem_in

} // namespace mrz::layouts
