// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! The planner alone: arithmetic, so it needs no root, no pages and no EAL.
#include <mrzone/plan.hpp>

#include <benchmark/benchmark.h>

#include <random>

namespace {

//! Extents of one to sixteen 2-MiB pages, none contiguous with the next.
mrz::Layout scattered(std::int64_t count)
{
    constexpr std::uint64_t page = std::uint64_t{2} << 20;
    std::mt19937_64 random{42};
    mrz::Layout layout;
    std::uint64_t dma = 0;
    for (std::int64_t i = 0; i < count; ++i) {
        const std::uint64_t length = (1 + random() % 16) * page;
        layout.append(mrz::DmaAddress{dma}, length);
        dma += length + page;
    }
    return layout;
}

void plan(benchmark::State& state)
{
    const auto layout = scattered(state.range(0));
    std::uint64_t entries = 0;
    for ([[maybe_unused]] auto run : state) {
        const auto plan = mrz::make_plan(layout, mrz::Iova{0}, mrz::Limits{});
        entries = plan.mtt_entries();
        benchmark::DoNotOptimize(entries);
    }
    state.counters["entries"] = static_cast<double>(entries);
    state.counters["extents"] = static_cast<double>(layout.extents().size());
}
BENCHMARK(plan)->ArgName("extents")->RangeMultiplier(10)->Range(100, 1'000'000)->Repetitions(3);

} // namespace
