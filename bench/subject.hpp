// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! What the subjects have in common: how one is timed, and what is counted in the memory that it took.
#pragma once

#include <mrzone/base.hpp>

#include <benchmark/benchmark.h>

#include <chrono>
#include <cstddef>
#include <exception>

namespace bench {

using namespace mrz::literals;

//! What every subject but the planner takes.
inline constexpr std::size_t size = 1_GiB;
inline constexpr std::size_t page_size = 2_MiB;

//! Makes the machine the same before every run: on the first call reserves and touches the pool and starts the EAL,
//! on each one puts the pool's free pages in order, whatever the run before did to them.
void prepare();
//! Undoes what the first prepare() did.
void release_machine() noexcept;

//! Sets the counters `entries` (of one key over the range, with iova = virtual address), `extents` and `mappings`.
void count(benchmark::State& state, const void* address, std::size_t length);

//! One run an iteration: times \p take alone. It returns an object that owns the memory, with address(), and that
//! gives it back when it is destroyed, outside of the timing.
template <class Take>
void measure(benchmark::State& state, Take take)
{
    try {
        for ([[maybe_unused]] auto run : state) {
            prepare();
            const auto begin = std::chrono::steady_clock::now();
            const auto memory = take();
            const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
            state.SetIterationTime(elapsed.count());
            count(state, memory.address(), size);
        }
    } catch (const std::exception& error) {
        state.SkipWithError(error.what());
    }
}

//! For BENCHMARK(…)->Apply(): one run a repetition, so that the repetitions of all subjects can be interleaved.
inline void one_run(benchmark::internal::Benchmark* subject)
{
    subject->UseManualTime()->Unit(benchmark::kMillisecond)->Iterations(1);
}

} // namespace bench
