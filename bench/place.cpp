// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! The placement alone: half of the pages that are there, of which some are held by others. Arithmetic, as the
//! planner.
#include <mrzone/plan.hpp>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <random>
#include <vector>

namespace {

//! Every fifth 2-MiB page is somebody else's, at random; the others come in random order.
std::vector<mrz::DmaAddress> fragmented(std::int64_t count)
{
    constexpr std::uint64_t page = std::uint64_t{2} << 20;
    std::mt19937_64 random{42};
    std::vector<mrz::DmaAddress> frames;
    for (std::uint64_t number = 0; frames.size() < static_cast<std::size_t>(count); ++number)
        if (random() % 5 != 0)
            frames.push_back(mrz::DmaAddress{number * page});
    std::shuffle(frames.begin(), frames.end(), random);
    return frames;
}

void place(benchmark::State& state, const mrz::Limits& limits)
{
    const auto frames = fragmented(state.range(0));
    mrz::Placement placement;
    for ([[maybe_unused]] auto run : state) {
        placement = mrz::place(frames, mrz::PageShift{21}, frames.size() / 2, mrz::PlanOptions{}, limits);
        benchmark::DoNotOptimize(placement.cost);
    }
    state.counters["entries"] = static_cast<double>(placement.entries);
    state.counters["cost"] = static_cast<double>(placement.cost);
}
BENCHMARK_CAPTURE(place, , {})
    ->Name("place")
    ->ArgName("pages")
    ->RangeMultiplier(10)
    ->Range(100, 1'000'000)
    ->Repetitions(3);
BENCHMARK_CAPTURE(place, klm, {.indirect = {.klm = true}})
    ->Name("place_klm")
    ->ArgName("pages")
    ->RangeMultiplier(10)
    ->Range(100, 1'000'000)
    ->Repetitions(3);

} // namespace
