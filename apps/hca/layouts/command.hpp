// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! How a command lies in memory: the entry of the command queue, a mailbox, and the beginning of every input and
//! output.
#pragma once

#include "layouts/field.hpp"

namespace mrz::layouts {

//! The beginning of every command's input.
namespace command_in {
inline constexpr std::size_t bytes = 16;
inline constexpr Field opcode{0, 16};
inline constexpr Field uid{16, 16};
inline constexpr Field op_mod{48, 16};
} // namespace command_in

//! The beginning of every command's output.
namespace command_out {
inline constexpr std::size_t bytes = 16;
inline constexpr Field status{0, 8};
inline constexpr Field syndrome{32, 32};
} // namespace command_out

//! An entry of the command queue.
namespace cmd_queue_entry {
inline constexpr std::size_t bytes = 64;
inline constexpr Field type{0, 8};
inline constexpr Field input_length{32, 32};
inline constexpr Field input_mailbox_pointer_63_32{64, 32};
inline constexpr Field input_mailbox_pointer_31_9{96, 23};
inline constexpr Block command_input_inline_data{16, 16};
inline constexpr Block command_output_inline_data{32, 16};
inline constexpr Field output_mailbox_pointer_63_32{384, 32};
inline constexpr Field output_mailbox_pointer_31_9{416, 23};
inline constexpr Field output_length{448, 32};
inline constexpr Field token{480, 8};
inline constexpr Field signature{488, 8};
inline constexpr Field status{504, 7};
inline constexpr Field ownership{511, 1};
} // namespace cmd_queue_entry

//! A mailbox.
namespace cmd_if_box {
inline constexpr std::size_t bytes = 576;
inline constexpr Block mailbox_data{0, 512};
inline constexpr Field next_pointer_63_32{4480, 32};
inline constexpr Field next_pointer_31_10{4512, 22};
inline constexpr Field block_number{4544, 32};
inline constexpr Field token{4584, 8};
inline constexpr Field ctrl_signature{4592, 8};
inline constexpr Field signature{4600, 8};
} // namespace cmd_if_box

} // namespace mrz::layouts
