// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! The best rate of a measurement beside its average.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>

namespace mrz::perf {

//! Bytes by windows of time, of all threads together. Thread-safe.
class RateWindows {
  public:
    using Clock = std::chrono::steady_clock;
    static constexpr std::chrono::milliseconds window{10};

    //! Before the first add().
    void begin(Clock::time_point now) noexcept { begin_ = now; }
    void add(std::uint64_t bytes, Clock::time_point now) noexcept
    {
        const auto place = static_cast<std::size_t>((now - begin_) / window);
        if (place < bytes_.size()) // what comes after forty seconds is no longer looked at
            bytes_[place].fetch_add(bytes, std::memory_order_relaxed);
    }
    //! Bytes a second in the best of the windows that were over at \p end; nothing if none was.
    [[nodiscard]] std::optional<double> peak(Clock::time_point end) const noexcept
    {
        const auto whole = std::min(static_cast<std::size_t>((end - begin_) / window), bytes_.size());
        if (whole == 0)
            return std::nullopt;
        std::uint64_t most = 0;
        for (std::size_t i = 0; i < whole; ++i)
            most = std::max(most, bytes_[i].load(std::memory_order_relaxed));
        return static_cast<double>(most) / std::chrono::duration<double>{window}.count();
    }

  private:
    Clock::time_point begin_{};
    std::array<std::atomic<std::uint64_t>, 4096> bytes_{};
};

} // namespace mrz::perf
