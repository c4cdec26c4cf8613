// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! What other figures are put beside.
#include "each_use.hpp"

#include <mutex>

namespace bench {

namespace {

//! A lock that nobody else wants.
void mutex(benchmark::State& state)
{
    std::mutex lock;
    time_each(state, [&](std::size_t) {
        lock.lock();
        benchmark::ClobberMemory();
        lock.unlock();
    });
}

[[maybe_unused]] const bool subjects = [] {
    benchmark::RegisterBenchmark("baseline/mutex", mutex)->Apply(many_uses);
    return true;
}();

} // namespace

} // namespace bench
