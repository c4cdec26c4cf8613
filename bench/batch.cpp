// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Leases of 4-KiB ranges that are not there, in one call and one by one. The figure is the time a range.
#include "machine.hpp"
#include "subject.hpp"
#include "touched_memory.hpp"

#include <mrzone/cache.hpp>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

namespace bench {

namespace {

constexpr std::size_t page = 4_KiB;
constexpr std::size_t largest = 4096;

enum class Lie { adjacent, scattered };
enum class Call { one, each };

//! Times one call for \p count ranges, or a call each, and says how long that was a range.
void batch(benchmark::State& state, std::size_t count, Lie lie, Call call)
{
    run(state, [&] {
        const TouchedMemory memory{Pages::small, 2 * page * largest};
        std::mt19937_64 random{1};
        // Enough of them that one is not the clock.
        const std::size_t calls = std::max<std::size_t>(1, 256 / count);
        for ([[maybe_unused]] auto iteration : state) {
            std::vector<mrz::LeaseRequest> requests;
            for (std::size_t i = 0; i < count * calls; ++i)
                requests.push_back({memory.bytes().subspan((lie == Lie::adjacent ? 1 : 2) * i * page, page)});
            std::ranges::shuffle(requests, random);
            if (lie == Lie::adjacent)
                std::ranges::sort(requests, {}, [](const auto& request) { return request.memory.data(); });
            mrz::Cache cache{soft_domain(), {.keys = 2 * largest, .merge_up_to = call == Call::each ? 0 : 2_MiB}};
            std::vector<mrz::Lease> leases;
            leases.reserve(requests.size());
            const auto begin = std::chrono::steady_clock::now();
            if (call == Call::one) {
                for (std::size_t i = 0; i < calls; ++i)
                    for (auto& lease : cache.lease_all(std::span{requests}.subspan(i * count, count)))
                        leases.push_back(std::move(lease));
            } else {
                for (const auto& request : requests)
                    leases.push_back(cache.lease(request.memory, request.access));
            }
            const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
            state.SetIterationTime(elapsed.count() / static_cast<double>(requests.size()));
            state.counters["keys"] = static_cast<double>(cache.snapshot().keys);
        }
    });
}

[[maybe_unused]] const bool subjects = [] {
    for (const auto& [lie, text] : {std::pair{Lie::adjacent, "adjacent"}, std::pair{Lie::scattered, "scattered"}}) {
        for (const std::size_t count : {1u, 16u, 256u, 4096u})
            benchmark::RegisterBenchmark((std::string{"batch/"} + text + '/' + std::to_string(count)).c_str(), batch,
                                         count, lie, Call::one)
                ->Apply(one_run);
        benchmark::RegisterBenchmark((std::string{"batch/"} + text + "/single").c_str(), batch, 256, lie, Call::each)
            ->Apply(one_run);
    }
    return true;
}();

} // namespace

} // namespace bench
