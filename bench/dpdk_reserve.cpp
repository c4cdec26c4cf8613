// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! The same amount from DPDK's own heap, which grows for it and shrinks again afterwards.
#include "memzone.hpp"
#include "subject.hpp"

namespace bench {

namespace {

void dpdk_reserve(benchmark::State& state)
{
    measure(state, [] { return Memzone{}; });
}
BENCHMARK(dpdk_reserve)->Name("dpdk_reserve/1GiB")->Apply(one_run);

} // namespace

} // namespace bench
