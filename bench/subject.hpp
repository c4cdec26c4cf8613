// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! What the subjects have in common: how one is timed, and what is counted in the memory that it took.
#pragma once

#include <mrzone/base.hpp>
#include <mrzone/device.hpp>

#include <common/signals.hpp>

#include <benchmark/benchmark.h>

#include <chrono>
#include <cstddef>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>

namespace bench {

using namespace mrz::literals;

//! What a subject takes, if its name does not tell.
inline constexpr std::size_t size = 1_GiB;
inline constexpr std::size_t page_size = 2_MiB;

//! Makes the machine the same before every run: on the first call reserves and touches the pool and starts the EAL,
//! on each one puts the pool's free pages in order, whatever the run before did to them.
void prepare();
//! Pages for subjects larger than `size`, for as long as it lives. Throws Unavailable if the machine has none.
class Room {
  public:
    explicit Room(std::size_t bytes);
    Room(const Room&) = delete;
    Room& operator=(const Room&) = delete;
    ~Room();

  private:
    struct Pages;
    std::unique_ptr<Pages> pages_;
};
//! Undoes what the first prepare() did.
void release_machine() noexcept;

//! Memory that this machine does not have: its subject is left out, with the reason, and that is no failure.
class Unavailable : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};
//! How the message of a subject that was left out begins.
inline constexpr const char* left_out = "left out: ";

//! Runs a subject's \p body, and ends the subject with the reason if it throws.
template <class Body>
void run(benchmark::State& state, Body body)
{
    try {
        mrz::app::throw_if_interrupted();
        body();
    } catch (const Unavailable& reason) {
        state.SkipWithError((std::string{left_out} + reason.what()).c_str());
    } catch (const std::exception& error) {
        state.SkipWithError(error.what());
    }
}

//! Throws unless an operation ended well.
void must_succeed(mrz::WcStatus status);

//! Sets the counters `entries` (of one key over the range, with iova = virtual address), `extents` and `mappings`.
void count(benchmark::State& state, const void* address, std::size_t length);

//! One run an iteration: times \p take alone. It returns an object that owns the memory, with address(), and that
//! gives it back when it is destroyed, outside of the timing.
//! \p bytes is what it takes; \p spoil runs before, when the pool is in order.
template <class Take, class Spoil = void (*)()>
void measure(
    benchmark::State& state, Take take, std::size_t bytes = size, Spoil spoil = [] {})
{
    run(state, [&] {
        for ([[maybe_unused]] auto iteration : state) {
            const Room room{bytes};
            prepare();
            spoil();
            const auto begin = std::chrono::steady_clock::now();
            const auto memory = take();
            const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
            state.SetIterationTime(elapsed.count());
            count(state, memory.address(), bytes);
        }
    });
}

//! For BENCHMARK(…)->Apply(): one run a repetition, so that the repetitions of all subjects can be interleaved.
inline void one_run(benchmark::internal::Benchmark* subject)
{
    subject->UseManualTime()->Unit(benchmark::kMillisecond)->Iterations(1);
}

} // namespace bench
