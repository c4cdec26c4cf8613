// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Which queue pairs have work that waits.
#pragma once

#include <hca/queue_pair.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

namespace mrz::hca {

//! Queue pairs by number, each with the time when it tries again (time_point::max() if only something else can let it
//! go on). Thread-safe; its lock is the innermost of all.
class WaitingList {
  public:
    using TimePoint = QueuePair::Clock::time_point;

    void set(std::uint32_t qpn, TimePoint until);
    void remove(std::uint32_t qpn);
    //! Cheap, for every post and poll.
    [[nodiscard]] bool any() const noexcept { return count_.load() != 0; }
    [[nodiscard]] std::vector<std::uint32_t> all() const;
    [[nodiscard]] std::vector<std::uint32_t> due(TimePoint now) const;
    [[nodiscard]] std::optional<TimePoint> nearest() const;

  private:
    mutable std::mutex mutex_;
    std::map<std::uint32_t, TimePoint> until_;
    std::atomic<std::size_t> count_ = 0;
};

} // namespace mrz::hca
