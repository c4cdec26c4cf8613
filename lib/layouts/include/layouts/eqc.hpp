// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Event queue contexts, and the commands that carry them.
#pragma once

#include "layouts/field.hpp"

namespace mrz::layouts {

//! An event queue.
namespace eqc {
inline constexpr std::size_t bytes = 64;
inline constexpr Field status{0, 4};
inline constexpr Field ec{13, 1};
inline constexpr Field oi{14, 1};
inline constexpr Field st{20, 4};
inline constexpr Field page_offset{84, 6};
inline constexpr Field log_eq_size{99, 5};
inline constexpr Field uar_page{104, 24};
inline constexpr Field intr{180, 12};
inline constexpr Field log_page_size{195, 5};
inline constexpr Field consumer_counter{328, 24};
inline constexpr Field producer_counter{360, 24};
} // namespace eqc

//! CREATE_EQ.
namespace create_eq_in {
inline constexpr std::size_t bytes = 272;
inline constexpr Field opcode{0, 16};
inline constexpr Field uid{16, 16};
inline constexpr Field op_mod{48, 16};
inline constexpr Block eq_context_entry{16, 64};
inline constexpr Block event_bitmask{88, 32};
inline constexpr Block pas{272, 0};
} // namespace create_eq_in

//! Its answer.
namespace create_eq_out {
inline constexpr std::size_t bytes = 16;
inline constexpr Field status{0, 8};
inline constexpr Field syndrome{32, 32};
inline constexpr Field eq_number{88, 8};
} // namespace create_eq_out

//! QUERY_EQ.
namespace query_eq_in {
inline constexpr std::size_t bytes = 16;
inline constexpr Field opcode{0, 16};
inline constexpr Field op_mod{48, 16};
inline constexpr Field eq_number{88, 8};
} // namespace query_eq_in

//! Its answer.
namespace query_eq_out {
inline constexpr std::size_t bytes = 272;
inline constexpr Field status{0, 8};
inline constexpr Field syndrome{32, 32};
inline constexpr Block eq_context_entry{16, 64};
inline constexpr Field event_bitmask{704, 64};
inline constexpr Block pas{272, 0};
} // namespace query_eq_out

//! DESTROY_EQ.
namespace destroy_eq_in {
inline constexpr std::size_t bytes = 16;
inline constexpr Field opcode{0, 16};
inline constexpr Field op_mod{48, 16};
inline constexpr Field eq_number{88, 8};
} // namespace destroy_eq_in

//! GEN_EQE.
namespace gen_eqe_in {
inline constexpr std::size_t bytes = 80;
inline constexpr Field opcode{0, 16};
inline constexpr Field op_mod{48, 16};
inline constexpr Field eq_number{88, 8};
inline constexpr Block eqe{16, 64};
} // namespace gen_eqe_in

} // namespace mrz::layouts
