// SPDX-License-Identifier: BSD-3-Clause
#include "latencies.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace mrz::perf {

std::size_t Latencies::class_of(std::uint64_t value) noexcept
{
    if (value < std::uint64_t{2} << bits)
        return static_cast<std::size_t>(value);
    const auto shift = static_cast<unsigned>(std::bit_width(value)) - (bits + 1);
    return (std::size_t{shift} << bits) + static_cast<std::size_t>(value >> shift);
}

double Latencies::middle_of(std::size_t place) noexcept
{
    if (place < std::size_t{2} << bits)
        return static_cast<double>(place);
    const std::size_t shift = (place >> bits) - 1;
    const std::uint64_t first = static_cast<std::uint64_t>(place - (shift << bits)) << shift;
    return static_cast<double>(first) + static_cast<double>((std::uint64_t{1} << shift) - 1) / 2;
}

void Latencies::add(std::chrono::nanoseconds value) noexcept
{
    const auto nanoseconds = static_cast<std::uint64_t>(std::max<std::int64_t>(value.count(), 0));
    ++counts_[class_of(nanoseconds)];
    least_ = count_ == 0 ? nanoseconds : std::min(least_, nanoseconds);
    most_ = std::max(most_, nanoseconds);
    // Welford's way: sums of squares would lose the digits that matter.
    ++count_;
    const double distance = static_cast<double>(nanoseconds) - mean_;
    mean_ += distance / static_cast<double>(count_);
    squares_ += distance * (static_cast<double>(nanoseconds) - mean_);
}

double Latencies::percentile(double part) const noexcept
{
    if (count_ == 0)
        return 0;
    const auto rank =
        std::max<std::uint64_t>(static_cast<std::uint64_t>(std::ceil(part * static_cast<double>(count_))), 1);
    std::uint64_t seen = 0;
    for (std::size_t place = 0; place < classes; ++place) {
        seen += counts_[place];
        if (seen >= rank)
            return std::clamp(middle_of(place), static_cast<double>(least_), static_cast<double>(most_));
    }
    return static_cast<double>(most_);
}

LatencySummary Latencies::summary() const noexcept
{
    return {.count = count_,
            .least = static_cast<double>(least_),
            .most = static_cast<double>(most_),
            .average = mean_,
            .deviation = count_ > 1 ? std::sqrt(squares_ / static_cast<double>(count_ - 1)) : 0,
            .median = percentile(0.5),
            .p99 = percentile(0.99),
            .p99_9 = percentile(0.999)};
}

app::Json to_json(const LatencySummary& summary)
{
    return {{"count", summary.count},     {"min", summary.least},  {"max", summary.most}, {"avg", summary.average},
            {"stdev", summary.deviation}, {"p50", summary.median}, {"p99", summary.p99},  {"p99_9", summary.p99_9}};
}

} // namespace mrz::perf
