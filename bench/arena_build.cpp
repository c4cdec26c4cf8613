// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! An arena: a window, and DPDK's heap over it; from a pool in order, and from one that is fragmented. And the time
//! from the call until a zone of all of it can be used. On one thread, as the baseline.
#include "machine.hpp"
#include "subject.hpp"

#include <mrzone/zone.hpp>

#include <string>

namespace bench {

namespace {

struct Built {
    mrz::Arena arena = mrz::Arena::build("bench", {.size = size, .page_size = page_size, .threads = 1});

    [[nodiscard]] const void* address() const noexcept { return arena.windows().front().block().data(); }
};

void arena_build(benchmark::State& state)
{
    measure(state, [] { return Built{}; });
}
BENCHMARK(arena_build)->Name("arena_build/1GiB")->Apply(one_run);

//! A fifth of the pages is held by others, and the rest comes in random order.
void arena_build_fragmented(benchmark::State& state)
{
    std::shared_ptr<const void> held;
    measure(
        state, [] { return Built{}; }, size, [&held] { held = Machine::fragment_pool(20); });
}
BENCHMARK(arena_build_fragmented)->Name("arena_build/fragmented")->Apply(one_run);

class ReadyZone {
  public:
    explicit ReadyZone(std::size_t bytes)
        : arena_{mrz::Arena::build("bench", {.size = bytes, .page_size = page_size, .threads = 1})},
          zone_{arena_.reserve("bench", bytes)}
    {
    }

    [[nodiscard]] const void* address() const noexcept { return zone_.bytes().data(); }

  private:
    mrz::Arena arena_;
    mrz::Zone zone_;
};

void arena_zone(benchmark::State& state, std::size_t bytes)
{
    measure(
        state, [bytes] { return ReadyZone{bytes}; }, bytes);
}
BENCHMARK_CAPTURE(arena_zone, , 1_GiB)->Name("arena_zone/1GiB")->Apply(one_run);
BENCHMARK_CAPTURE(arena_zone, , 4_GiB)->Name("arena_zone/4GiB")->Apply(one_run);
BENCHMARK_CAPTURE(arena_zone, , 16_GiB)->Name("arena_zone/16GiB")->Apply(one_run);

} // namespace

} // namespace bench
