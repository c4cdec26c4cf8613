// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Registers of the port, by ACCESS_REG.
#pragma once

#include "layouts/field.hpp"

namespace mrz::layouts {

namespace access_register_in {
inline constexpr std::size_t bytes = 16;
inline constexpr Field register_id{80, 16};
inline constexpr Field argument{96, 32};
inline constexpr Block register_data{16, 0};
} // namespace access_register_in

namespace access_register_out {
inline constexpr std::size_t bytes = 16;
inline constexpr Block register_data{16, 0};
} // namespace access_register_out

namespace ptys_reg {
inline constexpr std::size_t bytes = 64;
inline constexpr Field an_disable_admin{1, 1};
inline constexpr Field an_disable_cap{2, 1};
inline constexpr Field local_port{8, 8};
inline constexpr Field proto_mask{29, 3};
inline constexpr Field an_status{32, 4};
inline constexpr Field eth_proto_capability{96, 32};
inline constexpr Field ib_link_width_capability{128, 16};
inline constexpr Field ib_proto_capability{144, 16};
inline constexpr Field eth_proto_admin{192, 32};
inline constexpr Field ib_link_width_admin{224, 16};
inline constexpr Field ib_proto_admin{240, 16};
inline constexpr Field eth_proto_oper{288, 32};
inline constexpr Field ib_link_width_oper{320, 16};
inline constexpr Field ib_proto_oper{336, 16};
inline constexpr Field connector_type{380, 4};
} // namespace ptys_reg

namespace pmtu_reg {
inline constexpr std::size_t bytes = 16;
inline constexpr Field local_port{8, 8};
inline constexpr Field max_mtu{32, 16};
inline constexpr Field admin_mtu{64, 16};
inline constexpr Field oper_mtu{96, 16};
} // namespace pmtu_reg

namespace paos_reg {
inline constexpr std::size_t bytes = 16;
inline constexpr Field swid{0, 8};
inline constexpr Field local_port{8, 8};
inline constexpr Field admin_status{20, 4};
inline constexpr Field oper_status{28, 4};
inline constexpr Field ase{32, 1};
inline constexpr Field ee{33, 1};
inline constexpr Field e{62, 2};
} // namespace paos_reg

namespace pvlc_reg {
inline constexpr std::size_t bytes = 16;
inline constexpr Field local_port{8, 8};
inline constexpr Field vl_hw_cap{60, 4};
inline constexpr Field vl_admin{92, 4};
inline constexpr Field vl_operational{124, 4};
} // namespace pvlc_reg

namespace pfcc_reg {
inline constexpr std::size_t bytes = 32;
inline constexpr Field local_port{8, 8};
inline constexpr Field pptx{64, 1};
inline constexpr Field pfctx{72, 8};
inline constexpr Field pprx{96, 1};
inline constexpr Field pfcrx{104, 8};
} // namespace pfcc_reg

//! A counter is two words, of which the higher comes first.
namespace eth_2863_cntrs_grp_data_layout {
inline constexpr std::size_t bytes = 248;
inline constexpr Field if_out_discards_high{448, 32};
} // namespace eth_2863_cntrs_grp_data_layout

namespace ppcnt_reg {
inline constexpr std::size_t bytes = 256;
inline constexpr Field swid{0, 8};
inline constexpr Field local_port{8, 8};
inline constexpr Field pnat{16, 2};
inline constexpr Field grp{26, 6};
inline constexpr Field clr{32, 1};
inline constexpr Field prio_tc{61, 3};
inline constexpr Block counter_set{8, 248};
} // namespace ppcnt_reg

} // namespace mrz::layouts
