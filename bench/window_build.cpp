// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! A window: taking the pages, reading their frames, placing them, and returning the surplus. On one thread, as the
//! baseline.
#include "subject.hpp"

#include <mrzone/hugepage.hpp>

namespace bench {

namespace {

struct Built {
    mrz::Window window = mrz::Window::build({.size = size, .page_size = page_size, .threads = 1});

    [[nodiscard]] const void* address() const noexcept { return window.block().data(); }
};

void window_build(benchmark::State& state)
{
    measure(state, [] { return Built{}; });
}
BENCHMARK(window_build)->Name("window_build/1GiB")->Apply(one_run);

} // namespace

} // namespace bench
