// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! What send and receive queues of packets have in common.
#pragma once

#include "firmware/command.hpp"
#include "firmware/context.hpp"
#include "queues/ring_memory.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace mrz::ethernet {

//! As MLX5_SQC_STATE_… and MLX5_RQC_STATE_….
enum class State : std::uint8_t { reset = 0, ready = 1, error = 3 };

//! What MODIFY_SQ and MODIFY_RQ ask for. Throws bad_res_state if the queue is not in the state that the command says,
//! or cannot go from there to the one that it wants; bad_param for one that does not exist.
[[nodiscard]] State checked_transition(State present, std::uint64_t said, std::uint64_t wanted);

struct WorkQueueShape {
    unsigned log_entries;
    unsigned log_stride; //!< Bytes of an entry.
};
//! Of the work queue whose context begins \p at bytes into the command. Throws bad_param for one that is not a ring,
//! or larger than what there may be.
[[nodiscard]] WorkQueueShape checked_ring(std::span<const std::byte> in, std::size_t at, unsigned least_log_stride,
                                          unsigned most_log_stride, const firmware::Context& context);

} // namespace mrz::ethernet
