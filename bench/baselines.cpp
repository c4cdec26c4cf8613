// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! What other figures are put beside.
#include "subject.hpp"

#include <mutex>

namespace bench {

namespace {

//! A lock that nobody else wants.
void mutex(benchmark::State& state)
{
    std::mutex lock;
    for ([[maybe_unused]] auto iteration : state) {
        lock.lock();
        benchmark::ClobberMemory();
        lock.unlock();
    }
}

[[maybe_unused]] const bool subjects = [] {
    benchmark::RegisterBenchmark("baseline/mutex", mutex)->MinTime(0.05);
    return true;
}();

} // namespace

} // namespace bench
