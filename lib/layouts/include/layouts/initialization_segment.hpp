// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! The beginning of BAR 0.
#pragma once

#include "layouts/field.hpp"

namespace mrz::layouts {

namespace initial_seg {
inline constexpr std::size_t bytes = 16396;
inline constexpr Field fw_rev_minor{0, 16};
inline constexpr Field fw_rev_major{16, 16};
inline constexpr Field cmd_interface_rev{32, 16};
inline constexpr Field fw_rev_subminor{48, 16};
inline constexpr Field cmdq_phy_addr_63_32{128, 32};
inline constexpr Field cmdq_phy_addr_31_12{160, 20};
inline constexpr Field nic_interface{182, 2};
inline constexpr Field log_cmdq_size{184, 4};
inline constexpr Field log_cmdq_stride{188, 4};
inline constexpr Field command_doorbell_vector{192, 32};
inline constexpr Field initializing{4064, 1};
inline constexpr Field nic_interface_supported{4069, 3};
inline constexpr Block health_buffer{512, 64};
inline constexpr Field clear_int{32895, 1};
inline constexpr Field health_syndrome{32896, 8};
inline constexpr Field health_counter{32904, 24};
} // namespace initial_seg

namespace health_buffer {
inline constexpr std::size_t bytes = 64;
inline constexpr Field assert_existptr{256, 32};
inline constexpr Field assert_callra{288, 32};
inline constexpr Field fw_version{384, 32};
inline constexpr Field hw_id{416, 32};
inline constexpr Field irisc_index{480, 8};
inline constexpr Field synd{488, 8};
inline constexpr Field ext_synd{496, 16};
} // namespace health_buffer

} // namespace mrz::layouts
