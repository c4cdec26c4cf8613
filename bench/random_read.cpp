// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! RDMA reads of 64 bytes at random places of a gigabyte: how often the adapter's cache of translations lacks the
//! one that is asked for. The software adapter models a cache of 8192; see drivers/soft/adapter.cpp.
#include "machine.hpp"
#include "memzone.hpp"
#include "subject.hpp"
#include "touched_memory.hpp"

#include <common/loopback.hpp>

#include <mrzone/region.hpp>
#include <mrzone/zone.hpp>

#include <random>
#include <stdexcept>

namespace bench {

namespace {

constexpr std::uint32_t read_length = 64;
constexpr benchmark::IterationCount reads = 100'000;
//! Before it is counted: as many as fill the cache, and bring in each of a memory's translations that fit.
constexpr unsigned warm_up = 20'000;

mrz::CacheCounters look_ups(const mrz::Domain& domain)
{
    const auto counters = domain.cache_counters();
    if (!counters)
        throw std::runtime_error{"the adapter does not count look-ups"};
    return *counters;
}

void random_reads(benchmark::State& state, const mrz::Domain& domain, const mrz::Region& region)
{
    const TouchedMemory landing{Pages::small, read_length};
    const auto local = domain.register_memory(landing.bytes(), mrz::Access::local_write);
    mrz::app::Loopback loopback{domain};
    const mrz::Segment segment{local.iova(), read_length, local.lkey()};
    std::mt19937_64 random{42};
    const auto read = [&] {
        must_succeed(loopback.run(mrz::Opcode::rdma_read, segment,
                                  region.iova() + random() % (region.bytes().size() / read_length) * read_length,
                                  region.rkey()));
    };
    for (unsigned i = 0; i < warm_up; ++i)
        read();
    const auto before = look_ups(domain);
    for ([[maybe_unused]] auto iteration : state)
        read();
    const auto after = look_ups(domain);
    const auto each = [](std::uint64_t count) { return static_cast<double>(count) / reads; };
    state.counters["mtt_misses_per_op"] = each(after.mtt_misses - before.mtt_misses);
    state.counters["mpt_misses_per_op"] = each(after.mpt_misses - before.mpt_misses);
    state.counters["entries"] = static_cast<double>(region.plan().mtt_entries());
    state.SetItemsProcessed(reads);
}

const mrz::RegionOptions as_ibv_reg_mr{.indirect = false};
constexpr auto access = mrz::Access::local_write | mrz::Access::remote_read;

void zone_reads(benchmark::State& state)
{
    run(state, [&] {
        prepare();
        const auto domain = soft_domain();
        auto arena = mrz::Arena::build("bench", {.size = size, .page_size = page_size, .domains = {domain}});
        const auto zone = arena.reserve("bench", size, access);
        random_reads(state, domain, zone.region(domain));
    });
}

void plain_reads(benchmark::State& state)
{
    run(state, [&] {
        const auto domain = soft_domain();
        const TouchedMemory memory{Pages::small, size};
        random_reads(state, domain, domain.register_memory(memory.bytes(), access, as_ibv_reg_mr));
    });
}

void dpdk_reads(benchmark::State& state)
{
    run(state, [&] {
        prepare();
        const auto domain = soft_domain();
        const Memzone memory;
        random_reads(state, domain, domain.register_memory(memory.bytes(), access, as_ibv_reg_mr));
    });
}

void fixed(benchmark::internal::Benchmark* subject)
{
    subject->UseRealTime()->Iterations(reads);
}
BENCHMARK(zone_reads)->Name("random_read/soft/zone")->Apply(fixed);
BENCHMARK(plain_reads)->Name("random_read/soft/plain")->Apply(fixed);
BENCHMARK(dpdk_reads)->Name("random_read/soft/dpdk")->Apply(fixed);

} // namespace

} // namespace bench
