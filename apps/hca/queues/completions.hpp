// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Completions as entries of a ring.
#pragma once

#include "layouts/cqe.hpp"
#include "queues/completion_ring.hpp"

#include <hca/work.hpp>

#include <cstdint>

namespace mrz::queues {

//! Of whose work it is.
struct Completed {
    std::uint32_t qpn = 0;
    std::uint32_t user_index = 0; //!< What the owner calls it (cqe_version 1).
    std::uint16_t entry = 0;      //!< Which of its work: where it began, or its index.
};

[[nodiscard]] layouts::CqeSyndrome syndrome_of(hca::WcStatus status) noexcept;

//! Of an entry of a send queue that was done: \p opcode as it was written there.
[[nodiscard]] Cqe send_done(const Completed& work, std::uint8_t opcode, std::uint32_t bytes);
[[nodiscard]] Cqe send_failed(const Completed& work, std::uint8_t opcode, layouts::CqeSyndrome syndrome);
//! Of a receive, done or failed. \p ethernet: what it says of a datagram's sender is RoceSender's.
[[nodiscard]] Cqe received(const Completed& work, const hca::Completion& completion, bool ethernet);

} // namespace mrz::queues
