// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! What a peer is given to reach a piece of memory that is registered already: a region of its own over what is
//! pinned, another rkey of the same region, or a movable key that is led there.
#include "machine.hpp"
#include "subject.hpp"
#include "touched_memory.hpp"

#include <mrzone/movable_key.hpp>
#include <mrzone/region.hpp>

#include <string>
#include <utility>

namespace bench {

namespace {

constexpr std::size_t length = 1_MiB;
constexpr std::size_t piece = 4_KiB;

//! Gives each piece in turn.
template <class Give>
void in_turn(benchmark::State& state, std::span<std::byte> memory, Give give)
{
    std::size_t at = 0;
    for ([[maybe_unused]] auto iteration : state) {
        benchmark::DoNotOptimize(give(memory.subspan(at, piece)));
        at = (at + piece) % memory.size();
    }
}

void create(benchmark::State& state, const std::string& device)
{
    run(state, [&] {
        const TouchedMemory memory{Pages::small, length};
        const auto domain = domain_of(device);
        const auto pinned = domain.register_memory(memory.bytes());
        in_turn(state, memory.bytes(), [&](std::span<std::byte> part) {
            const auto region = domain.register_memory(
                part, mrz::Access::remote_read, {.how = {.sharing = mrz::Sharing::always}, .looked_up = false});
            return region.rkey();
        });
    });
}

void reissue(benchmark::State& state, const std::string& device)
{
    run(state, [&] {
        const TouchedMemory memory{Pages::small, length};
        auto region = domain_of(device).register_memory(memory.bytes(), mrz::Access::remote_read);
        in_turn(state, memory.bytes(), [&](std::span<std::byte>) { return region.reissue(); });
    });
}

void move(benchmark::State& state, const std::string& device)
{
    run(state, [&] {
        const TouchedMemory memory{Pages::small, length};
        const auto domain = domain_of(device);
        const auto region = domain.register_memory(memory.bytes());
        mrz::MovableKey key{domain};
        in_turn(state, memory.bytes(), [&](std::span<std::byte> part) { return key.lead_to(region, part); });
    });
}

[[maybe_unused]] const bool subjects = [] {
    using Subject = void (*)(benchmark::State&, const std::string&);
    for (const auto& [driver, device] : first_devices()) {
        if (driver == "verbs") // does not choose keys
            continue;
        for (const auto& [name, subject] :
             {std::pair<const char*, Subject>{"create", create}, {"reissue", reissue}, {"move", move}})
            benchmark::RegisterBenchmark(("rekey/" + driver + '/' + name).c_str(), subject, device)
                ->Iterations(200)
                ->Unit(benchmark::kMicrosecond);
    }
    return true;
}();

} // namespace

} // namespace bench
