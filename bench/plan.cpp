// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! The planner alone: arithmetic, so it needs no root, no pages and no EAL.
#include <mrzone/plan.hpp>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

namespace {

constexpr std::uint64_t page = std::uint64_t{2} << 20;

//! 2-MiB pages in random order, hardly any contiguous with the next: a million are 2 TB.
mrz::Layout shuffled_pages(std::int64_t count)
{
    std::vector<std::uint64_t> frames(static_cast<std::size_t>(2 * count));
    std::iota(frames.begin(), frames.end(), std::uint64_t{0});
    std::shuffle(frames.begin(), frames.end(), std::mt19937_64{42});
    mrz::Layout layout;
    for (std::size_t i = 0; layout.extents().size() < static_cast<std::size_t>(count); ++i)
        layout.append(mrz::DmaAddress{frames[i] * page}, page);
    return layout;
}

//! Extents of one to sixteen 2-MiB pages, none contiguous with the next.
mrz::Layout scattered(std::int64_t count)
{
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

void report(benchmark::State& state, const mrz::Layout& layout, const mrz::Plan& plan)
{
    state.counters["entries"] = static_cast<double>(plan.mtt_entries());
    state.counters["extents"] = static_cast<double>(layout.extents().size());
    state.counters["keys"] = static_cast<double>(plan.keys.size() + (plan.indirect ? 1 : 0));
}

//! The cheapest keys, as for a device that has all kinds.
void plan(benchmark::State& state)
{
    const auto layout = shuffled_pages(state.range(0));
    const mrz::Limits limits{.indirect = {.klm = true, .ksm = true}};
    mrz::Plan plan;
    for ([[maybe_unused]] auto run : state) {
        plan = mrz::make_optimal_plan(layout, {}, limits);
        benchmark::DoNotOptimize(plan.limit.bit);
    }
    report(state, layout, plan);
}
BENCHMARK(plan)->ArgName("extents")->RangeMultiplier(10)->Range(100, 1'000'000)->Repetitions(3);

//! The same where nearly every extent is best as a key of its own.
void plan_cut(benchmark::State& state)
{
    const auto layout = scattered(state.range(0));
    const mrz::Limits limits{.indirect = {.klm = true, .ksm = true}};
    const mrz::PlanOptions options{.weights = {.mtt = 1, .mkey = 1, .indirect = 1}};
    mrz::Plan plan;
    for ([[maybe_unused]] auto run : state) {
        plan = mrz::make_optimal_plan(layout, options, limits);
        benchmark::DoNotOptimize(plan.limit.bit);
    }
    report(state, layout, plan);
}
BENCHMARK(plan_cut)->ArgName("extents")->RangeMultiplier(10)->Range(100, 1'000'000)->Repetitions(3);

//! One key at a given address: what a driver asks for at each registration.
void plan_one_key(benchmark::State& state)
{
    const auto layout = scattered(state.range(0));
    mrz::Plan plan;
    for ([[maybe_unused]] auto run : state) {
        plan = mrz::make_plan(layout, mrz::Iova{0}, mrz::Limits{});
        benchmark::DoNotOptimize(plan.limit.bit);
    }
    report(state, layout, plan);
}
BENCHMARK(plan_one_key)->ArgName("extents")->RangeMultiplier(10)->Range(100, 1'000'000)->Repetitions(3);

} // namespace
