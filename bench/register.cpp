// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Registering memory that is there, by each driver that has a device: the least work for the largest pages.
#include "machine.hpp"
#include "subject.hpp"
#include "touched_memory.hpp"

#include <mrzone/region.hpp>

#include <optional>
#include <string>
#include <utility>

namespace bench {

namespace {

using Clock = std::chrono::steady_clock;

double milliseconds(std::chrono::nanoseconds time)
{
    return std::chrono::duration<double, std::milli>{time}.count();
}

void register_with(benchmark::State& state, const std::string& device, Pages pages, std::size_t length)
{
    run(state, [&] {
        for ([[maybe_unused]] auto iteration : state) {
            const TouchedMemory memory{pages, length};
            const auto domain = domain_of(device);
            const auto begin = Clock::now();
            std::optional region = domain.register_memory(memory.bytes(), mrz::Access::local_write,
                                                          {.indirect = false}); // as ibv_reg_mr
            const auto registered = Clock::now();
            state.SetIterationTime(std::chrono::duration<double>{registered - begin}.count());

            const auto phases = region->phases();
            state.counters["entries"] = static_cast<double>(region->plan().mtt_entries());
            state.counters["pinned_bytes"] = static_cast<double>(region->pinned_bytes());
            // What is done before the driver is asked: look whether pages are there, read frames, plan.
            state.counters["plan_ms"] = milliseconds(registered - begin - phases.pin - phases.map - phases.tables);
            state.counters["pin_ms"] = milliseconds(phases.pin);
            state.counters["map_ms"] = milliseconds(phases.map);
            state.counters["tables_ms"] = milliseconds(phases.tables);
            if (pages == Pages::transparent)
                state.counters["huge_percent"] = memory.transparent_percent();

            const auto before = Clock::now();
            region.reset();
            state.counters["deregister_ms"] = milliseconds(Clock::now() - before);
        }
    });
}

[[maybe_unused]] const bool subjects = [] {
    for (const auto& [driver, device] : first_devices())
        for (const Pages pages : {Pages::small, Pages::transparent, Pages::huge_2m, Pages::huge_1g})
            for (const auto& [length, text] : {std::pair{64_MiB, "64MiB"}, std::pair{1_GiB, "1GiB"}})
                benchmark::RegisterBenchmark(("register/" + driver + '/' + name(pages) + '/' + text).c_str(),
                                             register_with, device, pages, length)
                    ->Apply(one_run);
    return true;
}();

} // namespace

} // namespace bench
