// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! An arena: a window, and DPDK's heap over it.
#include "subject.hpp"

#include <mrzone/zone.hpp>

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

} // namespace

} // namespace bench
