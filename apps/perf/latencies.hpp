// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! How long operations took: any number of them, in little room.
#pragma once

#include "common/output.hpp"

#include <array>
#include <chrono>
#include <cstdint>

namespace mrz::perf {

//! What came of them, in nanoseconds.
struct LatencySummary {
    std::uint64_t count = 0;
    double least = 0;
    double most = 0;
    double average = 0;
    double deviation = 0;
    double median = 0;
    double p99 = 0;
    double p99_9 = 0;
};

//! Counts values in classes that are less than 1 % wide; least, most, average and deviation are exact.
class Latencies {
  public:
    void add(std::chrono::nanoseconds value) noexcept;
    [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
    //! The value that \p part (0 to 1) of them do not pass, in nanoseconds: the middle of its class. 0 if there are
    //! none.
    [[nodiscard]] double percentile(double part) const noexcept;
    [[nodiscard]] LatencySummary summary() const noexcept;

  private:
    static constexpr unsigned bits = 7; //!< Of a value that tell its class apart.
    static constexpr std::size_t classes = (64 - bits + 1) << bits;
    static std::size_t class_of(std::uint64_t value) noexcept;
    static double middle_of(std::size_t place) noexcept;

    std::array<std::uint64_t, classes> counts_{};
    std::uint64_t count_ = 0;
    std::uint64_t least_ = 0;
    std::uint64_t most_ = 0;
    double mean_ = 0;
    double squares_ = 0; //!< Sum of the squared distances from the mean.
};

app::Json to_json(const LatencySummary& summary);

} // namespace mrz::perf
