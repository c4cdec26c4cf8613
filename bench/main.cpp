// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! mrz-bench: what it costs to take memory, to register it, to look its keys up and to use them, each beside an
//! alternative.
//!
//! Takes Google Benchmark's options. What they are by default here makes the figures comparable: the runs of all
//! subjects in one random order, and medians.
#include "lookup.hpp"
#include "subject.hpp"
#include "summary.hpp"

#include <common/signals.hpp>

#include <array>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

namespace {

int run(int argc, char** argv)
{
    // The last of an option wins, so the caller's come after ours.
    std::array<std::string, 2> defaults{"--benchmark_repetitions=15", "--benchmark_enable_random_interleaving=true"};
    std::vector<char*> arguments{argv[0]};
    for (std::string& option : defaults)
        arguments.push_back(option.data());
    arguments.insert(arguments.end(), argv + 1, argv + argc);
    int count = static_cast<int>(arguments.size());
    benchmark::Initialize(&count, arguments.data());
    if (benchmark::ReportUnrecognizedArguments(count, arguments.data()))
        return 2;

    // An interrupted run skips what is left, so that the pool is put back.
    mrz::app::watch_signals();
    bench::Summary summary;
    benchmark::RunSpecifiedBenchmarks(&summary);
    bench::release_lookups();
    bench::release_machine();
    benchmark::Shutdown();
    summary.print();
    return summary.failed() ? 1 : 0;
}

} // namespace

int main(int argc, char** argv)
{
    try {
        return run(argc, argv);
    } catch (const std::exception& error) {
        bench::release_lookups();
        bench::release_machine();
        std::fprintf(stderr, "mrz-bench: %s\n", error.what());
        return 1;
    }
}
