// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Commands of the device's life: enabled, given pages, initialized, and the way back.
#pragma once

#include "layouts/field.hpp"

namespace mrz::layouts {

namespace enable_hca_in {
inline constexpr std::size_t bytes = 16;
inline constexpr Field function_id{80, 16};
} // namespace enable_hca_in

namespace query_issi_out {
inline constexpr std::size_t bytes = 112;
inline constexpr Field current_issi{80, 16};
inline constexpr Field supported_issi_dw0{864, 32};
} // namespace query_issi_out

namespace set_issi_in {
inline constexpr std::size_t bytes = 16;
inline constexpr Field current_issi{80, 16};
} // namespace set_issi_in

namespace query_pages_in {
inline constexpr std::size_t bytes = 16;
inline constexpr Field function_id{80, 16};
} // namespace query_pages_in

namespace query_pages_out {
inline constexpr std::size_t bytes = 16;
inline constexpr Field function_id{80, 16};
inline constexpr Field num_pages{96, 32};
} // namespace query_pages_out

namespace manage_pages_in {
inline constexpr std::size_t bytes = 16;
inline constexpr Field function_id{80, 16};
inline constexpr Field input_num_entries{96, 32};
inline constexpr Block pas{16, 0};
} // namespace manage_pages_in

namespace manage_pages_out {
inline constexpr std::size_t bytes = 16;
inline constexpr Field output_num_entries{64, 32};
inline constexpr Block pas{16, 0};
} // namespace manage_pages_out

namespace query_hca_cap_in {
inline constexpr std::size_t bytes = 16;
inline constexpr Field other_function{64, 1};
inline constexpr Field function_id{80, 16};
} // namespace query_hca_cap_in

namespace query_hca_cap_out {
inline constexpr std::size_t bytes = 4112;
inline constexpr Block capability{16, 4096};
} // namespace query_hca_cap_out

namespace set_hca_cap_in {
inline constexpr std::size_t bytes = 4112;
inline constexpr Field other_function{64, 1};
inline constexpr Field function_id{80, 16};
inline constexpr Block capability{16, 4096};
} // namespace set_hca_cap_in

namespace init_hca_in {
inline constexpr std::size_t bytes = 32;
inline constexpr Field sw_vhca_id{98, 14};
} // namespace init_hca_in

namespace teardown_hca_in {
inline constexpr std::size_t bytes = 16;
inline constexpr Field profile{80, 16};
} // namespace teardown_hca_in

namespace teardown_hca_out {
inline constexpr std::size_t bytes = 16;
inline constexpr Field state{127, 1};
} // namespace teardown_hca_out

namespace query_adapter_out {
inline constexpr std::size_t bytes = 272;
inline constexpr Block query_adapter_struct{16, 256};
} // namespace query_adapter_out

namespace query_adapter_param_block {
inline constexpr std::size_t bytes = 256;
inline constexpr Field ieee_vendor_id{200, 24};
inline constexpr Field vsd_vendor_id{240, 16};
inline constexpr Block vsd{32, 208};
inline constexpr Block vsd_contd_psid{240, 16};
} // namespace query_adapter_param_block

namespace query_special_contexts_out {
inline constexpr std::size_t bytes = 32;
inline constexpr Field dump_fill_mkey{64, 32};
inline constexpr Field resd_lkey{96, 32};
inline constexpr Field null_mkey{128, 32};
} // namespace query_special_contexts_out

namespace set_driver_version_in {
inline constexpr std::size_t bytes = 80;
inline constexpr Block driver_version{16, 64};
} // namespace set_driver_version_in

} // namespace mrz::layouts
