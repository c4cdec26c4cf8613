// SPDX-License-Identifier: BSD-3-Clause
#include "latencies.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

namespace mrz::perf {
namespace {

using std::chrono::nanoseconds;

TEST(Latencies, OfNoneAreZero)
{
    const Latencies none;
    EXPECT_EQ(none.summary().count, 0U);
    EXPECT_EQ(none.percentile(0.5), 0);
    EXPECT_EQ(none.summary().deviation, 0);
}

TEST(Latencies, OfSmallValuesAreExact)
{
    Latencies latencies;
    for (int i = 1; i <= 100; ++i)
        latencies.add(nanoseconds{i});
    const LatencySummary all = latencies.summary();
    EXPECT_EQ(all.count, 100U);
    EXPECT_EQ(all.least, 1);
    EXPECT_EQ(all.most, 100);
    EXPECT_DOUBLE_EQ(all.average, 50.5);
    EXPECT_EQ(all.median, 50);
    EXPECT_EQ(all.p99, 99);
    EXPECT_EQ(all.p99_9, 100);                   // of a hundred there is no thousandth
    EXPECT_NEAR(all.deviation, 29.0115, 0.0001); // of a sample
}

TEST(Latencies, ArePercentilesOfWhatWasSortedWithinAHundredth)
{
    std::mt19937_64 random{1};
    std::lognormal_distribution<double> spread{9, 2};
    Latencies latencies;
    std::vector<std::uint64_t> values;
    for (int i = 0; i < 50'000; ++i) {
        values.push_back(static_cast<std::uint64_t>(spread(random)));
        latencies.add(nanoseconds{values.back()});
    }
    std::ranges::sort(values);
    for (const double part : {0.001, 0.1, 0.5, 0.9, 0.99, 0.999, 1.0}) {
        const auto rank = static_cast<std::size_t>(std::ceil(part * static_cast<double>(values.size())));
        const auto wanted = static_cast<double>(values[std::max<std::size_t>(rank, 1) - 1]);
        EXPECT_NEAR(latencies.percentile(part), wanted, wanted / 100 + 0.5) << part;
    }
    EXPECT_EQ(latencies.summary().least, static_cast<double>(values.front()));
    EXPECT_EQ(latencies.summary().most, static_cast<double>(values.back()));
}

TEST(Latencies, TakeWhateverAClockGives)
{
    Latencies latencies;
    latencies.add(nanoseconds{-5}); // one that was set back
    latencies.add(nanoseconds::max());
    EXPECT_EQ(latencies.summary().least, 0);
    EXPECT_EQ(latencies.percentile(0.5), 0);
    EXPECT_NEAR(latencies.percentile(1), 9.22e18, 0.1e18);
}

TEST(Latencies, ThatAreAllTheSameDoNotDeviate)
{
    Latencies latencies;
    for (int i = 0; i < 1000; ++i)
        latencies.add(nanoseconds{1'234'567});
    const LatencySummary all = latencies.summary();
    EXPECT_EQ(all.median, 1'234'567); // its class is wider, but nothing else is in it
    EXPECT_EQ(all.p99_9, 1'234'567);
    EXPECT_NEAR(all.deviation, 0, 1e-6);
}

} // namespace
} // namespace mrz::perf
