// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Commands and what carries them out: the contract of everybody who implements one.
#pragma once

#include "layouts/command.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace mrz::firmware {

using layouts::Status;
using layouts::to_string;

//! A whole command: its input and room for its output, mailboxes gathered. The output is zero when a handler gets it.
//! Both have at least the 16 bytes that every command has.
struct Command {
    std::uint16_t opcode = 0;
    std::uint16_t op_mod = 0;
    std::uint16_t uid = 0; //!< The user context in whose name it is given; 0 is the kernel itself.
    std::span<const std::byte> in;
    std::span<std::byte> out;
};

//! Thrown by a handler: the command has had no effect, and ends with this status and syndrome.
class Refusal : public std::runtime_error {
  public:
    //! \p why is for the log.
    Refusal(Status status, std::uint32_t syndrome, const std::string& why)
        : std::runtime_error{why}, status_{status}, syndrome_{syndrome}
    {
    }
    Refusal(Status status, const std::string& why) : Refusal{status, 0, why} {}

    [[nodiscard]] Status status() const noexcept { return status_; }
    [[nodiscard]] std::uint32_t syndrome() const noexcept { return syndrome_; }

  private:
    Status status_;
    std::uint32_t syndrome_;
};

//! What carries out one opcode. A handler does all of a command or throws: Refusal; mrz::Error of the engine, which
//! becomes the status that fits its errno; std::bad_alloc, which becomes no_res. Commands come one at a time.
struct Handler {
    std::uint16_t opcode;
    std::string_view name;     //!< As in MLX5_CMD_OP_…, for the log: a literal.
    std::size_t least_in = 16; //!< Bytes; shorter ones are refused before it is called.
    std::size_t least_out = 16;
    std::function<void(const Command&)> run;
    bool before_init = false; //!< Whether it may come before INIT_HCA.
};

//! All handlers, by opcode.
class Commands {
  public:
    //! Two handlers for one opcode are a fault in the program: std::logic_error.
    void add(Handler handler);
    //! Asked before each handler; it throws a Refusal where the command may not come now.
    void set_gate(std::function<void(const Handler&, const Command&)> gate) { gate_ = std::move(gate); }
    [[nodiscard]] const Handler* find(std::uint16_t opcode) const;
    [[nodiscard]] const std::map<std::uint16_t, Handler>& all() const noexcept { return handlers_; }

    //! Carries out a command that is in \p in and writes what there is to say to \p out, status included. Neither
    //! throws nor leaves a command without a status; says in the log why one was refused.
    void run(std::span<const std::byte> in, std::span<std::byte> out) const noexcept;

  private:
    std::map<std::uint16_t, Handler> handlers_;
    std::function<void(const Handler&, const Command&)> gate_;
};

} // namespace mrz::firmware
