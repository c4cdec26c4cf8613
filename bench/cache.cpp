// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! The temporary tier: a lease of a region that is there, of one that is not, and of one for which another has to go.
#include "each_use.hpp"
#include "machine.hpp"
#include "subject.hpp"
#include "touched_memory.hpp"

#include <mrzone/cache.hpp>

#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace bench {

namespace {

constexpr std::size_t page = 4_KiB;

//! What the threads of one run share.
struct Shared {
    std::optional<TouchedMemory> memory;
    std::optional<mrz::Cache> cache;
    std::vector<std::span<std::byte>> order; //!< Regions' memory, at random.
};

//! Regions of a page, not adjacent, which are there.
std::unique_ptr<Shared> with_regions(std::size_t regions)
{
    auto shared = std::make_unique<Shared>();
    shared->memory.emplace(Pages::small, 2 * page * regions);
    shared->cache.emplace(soft_domain());
    std::mt19937_64 random{1};
    std::vector<mrz::LeaseRequest> requests;
    for (std::size_t i = 0; i < regions; ++i)
        requests.push_back({shared->memory->bytes().subspan(2 * i * page, page)});
    static_cast<void>(shared->cache->lease_all(requests));
    shared->order.resize(4096);
    for (auto& memory : shared->order)
        memory = requests[random() % regions].memory;
    return shared;
}

//! Leases and releases. With another thread that does the same all the time, the figure is still one thread's.
void hit(benchmark::State& state, std::size_t regions, bool another)
{
    run(state, [&] {
        const auto shared = with_regions(regions);
        const auto use = [cache = &*shared->cache, order = shared->order.data()](std::size_t at) {
            const mrz::Lease lease = cache->lease(order[at % 4096]);
            benchmark::DoNotOptimize(lease.lkey());
        };
        std::optional<AtWorkElsewhere> other;
        if (another)
            other.emplace(use);
        time_each(state, use);
    });
}

//! Each lease is of memory that was never leased.
void miss(benchmark::State& state)
{
    run(state, [&] {
        constexpr std::size_t leases = 1024;
        const TouchedMemory memory{Pages::small, 2 * page * leases};
        mrz::Cache cache{soft_domain()};
        std::size_t at = 0;
        for ([[maybe_unused]] auto iteration : state) {
            if (at == leases) {
                state.PauseTiming();
                cache.invalidate(memory.bytes());
                while (cache.snapshot().keys > 0)
                    std::this_thread::yield();
                at = 0;
                state.ResumeTiming();
            }
            const mrz::Lease lease = cache.lease(memory.bytes().subspan(2 * page * at++, page));
            benchmark::DoNotOptimize(lease.lkey());
        }
    });
}

//! Each lease is of memory for which the least recently used has to go.
void churn(benchmark::State& state)
{
    run(state, [&] {
        constexpr std::size_t places = 1024;
        const TouchedMemory memory{Pages::small, 2 * page * places};
        mrz::Cache cache{soft_domain(), {.keys = places / 4}};
        std::size_t at = 0;
        const auto next = [&] { return memory.bytes().subspan(2 * page * (at++ % places), page); };
        for (std::size_t i = 0; i < places; ++i)
            static_cast<void>(cache.lease(next()));
        const auto before = cache.snapshot();
        for ([[maybe_unused]] auto iteration : state) {
            const mrz::Lease lease = cache.lease(next());
            benchmark::DoNotOptimize(lease.lkey());
        }
        const auto after = cache.snapshot();
        state.counters["waits_per_op"] =
            static_cast<double>(after.waits - before.waits) / static_cast<double>(after.misses - before.misses);
    });
}

//! What a cache saves: registering, and deregistering, each time.
void each_time(benchmark::State& state)
{
    run(state, [&] {
        const TouchedMemory memory{Pages::small, page};
        const auto domain = soft_domain();
        for ([[maybe_unused]] auto iteration : state) {
            const mrz::Region region = domain.register_memory(memory.bytes(), mrz::Access::local_write);
            benchmark::DoNotOptimize(region.lkey());
        }
    });
}

[[maybe_unused]] const bool subjects = [] {
    for (const std::size_t regions : {1u, 64u, 1024u})
        for (const bool another : {false, true})
            benchmark::RegisterBenchmark(
                ("cache/hit/" + std::to_string(regions) + (another ? "/two_threads" : "")).c_str(), hit, regions,
                another)
                ->Apply(many_uses);
    benchmark::RegisterBenchmark("cache/miss", miss)->MinTime(0.05)->UseRealTime();
    benchmark::RegisterBenchmark("cache/churn", churn)->MinTime(0.05)->UseRealTime();
    benchmark::RegisterBenchmark("cache/each_time", each_time)->MinTime(0.05)->UseRealTime();
    return true;
}();

} // namespace

} // namespace bench
