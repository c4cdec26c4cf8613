// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! The low byte of a key, which its maker chooses.
#pragma once

#include <cstdint>
#include <optional>

namespace mrz::mlx5 {

//! One that nobody can guess from other keys, since a peer is given one and may be curious. Not \p but. Throws
//! Error (unsupported) where the process may not ask the kernel for one.
[[nodiscard]] std::uint8_t random_variant(std::optional<std::uint8_t> but = {});

} // namespace mrz::mlx5
