// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! What the commands that change queue pairs say: their states, and which of a context's fields they set.
#pragma once

#include "queues/peer_address.hpp"
#include "queues/send_entry.hpp"

#include <hca/queue_pair.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace mrz::queues {

//! A command that moves queue pairs from one state to another.
struct Transition {
    std::uint16_t opcode;
    std::string_view name;
    hca::QpState from;
    hca::QpState to;
};
//! All but those that work in any state: 2RST_QP and 2ERR_QP.
[[nodiscard]] std::span<const Transition> transitions() noexcept;
//! None if it is none of these.
[[nodiscard]] const Transition* find_transition(std::uint16_t opcode) noexcept;

//! As MLX5_QP_STATE_….
[[nodiscard]] std::uint8_t state_number(hca::QpState state) noexcept;

//! Which parameters a command may give besides those that it always gives (opt_param_mask); Refusal, bad_param,
//! for others.
void check_options(const Transition& transition, std::uint32_t mask);
//! What it sets, in the engine's terms, but for the way to the peer. A queue pair without a peer has none.
[[nodiscard]] hca::QpAttributes attributes_of(const Transition& transition, QpKind kind,
                                              std::span<const std::byte> context, std::uint32_t mask);
//! Copies what it sets from one context to another.
void keep(const Transition& transition, std::span<const std::byte> context, std::uint32_t mask,
          std::span<std::byte> kept);
//! Where the peer is.
[[nodiscard]] PeerAddress peer_of(std::span<const std::byte> context);

} // namespace mrz::queues
