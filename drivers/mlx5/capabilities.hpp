// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! What an adapter of mlx5 says that it can, as far as keys to memory go.
#pragma once

#include <mrzone/plan.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace mrz::verbs {
class Context;
}

namespace mrz::mlx5 {

struct Capabilities {
    bool umems = false;                         //!< Whether memory of processes can be named to the firmware.
    unsigned max_indirection = 0;               //!< Keys below keys, in levels; 0: none.
    bool fixed_buffer_size = false;             //!< Whether there are KSM keys.
    unsigned log_max_klm_list_size = 0;         //!< Entries of an indirect key.
    bool requests_change_indirect_keys = false; //!< Whether work requests (UMR) may.
    bool small_fence_suffices = false;          //!< Whether that keeps such requests in order (umr_fence).
    bool relaxed_ordering_write = false;
    bool relaxed_ordering_read = false;
};

//! From the fields of the group of general capabilities.
[[nodiscard]] Capabilities parse_capabilities(std::span<const std::byte> general) noexcept;

//! Asks the adapter. Throws Refusal if the context is not one of DevX, or the firmware does not serve it.
[[nodiscard]] Capabilities query_capabilities(const verbs::Context& context);

//! What keys over umems may be, where \p verbs is what ibv_reg_mr may do on this adapter and kernel.
[[nodiscard]] Limits to_limits(const Capabilities& capabilities, const Limits& verbs) noexcept;

} // namespace mrz::mlx5
