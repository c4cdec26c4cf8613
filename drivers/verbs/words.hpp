// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! From the words of mrzone's devices to those of libibverbs, and back.
#pragma once

#include <mrzone/device.hpp>

#include <infiniband/verbs.h>

namespace mrz::verbs {

//! Flags of enum ibv_access_flags.
[[nodiscard]] unsigned to_verbs(Access access, const RegisterOptions& options, bool may_relax) noexcept;

//! Flags of enum ibv_send_flags.
[[nodiscard]] unsigned to_send_flags(const SendRequest& request) noexcept;
//! Throws Error (invalid, EINVAL) for a value that is none of Opcode's.
[[nodiscard]] ibv_wr_opcode to_verbs(Opcode opcode);

[[nodiscard]] WcStatus from_verbs(ibv_wc_status status) noexcept;
[[nodiscard]] WcOpcode from_verbs(ibv_wc_opcode opcode) noexcept;

} // namespace mrz::verbs
