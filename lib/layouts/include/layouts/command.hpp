// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! How a command lies in memory: the entry of the command queue, a mailbox, and the beginning of every input and
//! output.
#pragma once

#include "layouts/field.hpp"

#include <cstdint>
#include <string_view>

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

//! How a command ended: the first byte of its output. Names and numbers are those of MLX5_CMD_STAT_… in Linux's
//! include/linux/mlx5/device.h.
enum class Status : std::uint8_t {
    ok = 0x0,
    internal_error = 0x1,
    bad_op = 0x2,
    bad_param = 0x3,
    bad_sys_state = 0x4,
    bad_res = 0x5,
    res_busy = 0x6,
    lim = 0x8,
    bad_res_state = 0x9,
    ix = 0xa,
    no_res = 0xf,
    bad_inp_len = 0x50,
    bad_outp_len = 0x51,
    bad_qp_state = 0x10,
    bad_pkt = 0x30,
    bad_size_outs_cqes = 0x40,
};
//! "bad parameter", …; "?" for what is none.
constexpr std::string_view to_string(Status status) noexcept
{
    switch (status) {
    case Status::ok:
        return "OK";
    case Status::internal_error:
        return "internal error";
    case Status::bad_op:
        return "bad operation";
    case Status::bad_param:
        return "bad parameter";
    case Status::bad_sys_state:
        return "bad system state";
    case Status::bad_res:
        return "bad resource";
    case Status::res_busy:
        return "resource busy";
    case Status::lim:
        return "limits exceeded";
    case Status::bad_res_state:
        return "bad resource state";
    case Status::ix:
        return "bad index";
    case Status::no_res:
        return "no resources";
    case Status::bad_inp_len:
        return "bad input length";
    case Status::bad_outp_len:
        return "bad output length";
    case Status::bad_qp_state:
        return "bad queue pair state";
    case Status::bad_pkt:
        return "bad packet";
    case Status::bad_size_outs_cqes:
        return "too many outstanding completions";
    }
    return "?";
}

} // namespace mrz::layouts
