// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Receives of what the other end sends.
#pragma once

#include "pattern.hpp"
#include "slots.hpp"

#include <mrzone/region.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace mrz::perf {

//! Keeps receives waiting from its first refill() on, through all measurements: so each takes the largest message of
//! the session. Used by one thread at a time.
class Receiver {
  public:
    //! Marks completions of receives, whose ids are apart from those of other operations.
    static constexpr std::uint64_t mark = std::uint64_t{1} << 63;

    //! All of these live longer.
    Receiver(QueuePair& queue_pair, std::span<std::byte> memory, const Region& region, std::size_t largest,
             unsigned receives) noexcept;

    //! From now on; the requests that wait are this one's already.
    void use(QueuePair& queue_pair) noexcept { queue_pair_ = &queue_pair; }
    void refill();
    //! \p one is of a receive of a message that is to have \p size bytes; they are compared with \p brought at the
    //! sender's place \p offset if there is such a pattern. Throws Error (data).
    void take(const Completion& one, std::size_t size, const Pattern* brought, std::size_t offset);
    //! Messages that came, ever.
    [[nodiscard]] std::uint64_t received() const noexcept { return received_; }

  private:
    QueuePair* queue_pair_;
    std::span<std::byte> memory_;
    const Region* region_;
    std::size_t largest_;
    Slots slots_;
    std::size_t most_;
    std::uint64_t posted_ = 0;
    std::uint64_t received_ = 0;
};

} // namespace mrz::perf
