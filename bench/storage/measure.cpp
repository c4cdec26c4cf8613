// SPDX-License-Identifier: BSD-3-Clause
#include "measure.hpp"

#include "traffic.hpp"
#include "workload.hpp"

#include <common/measuring.hpp>
#include <common/output.hpp>
#include <common/signals.hpp>

#include <mrzone/region.hpp>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <random>
#include <thread>

namespace bench::storage {

namespace {

using namespace mrz::literals;

//! With large blocks fewer, or a round would take minutes; and so many that as many are under way in the end as may
//! be.
std::size_t operations_of(const Settings& settings, std::size_t size, std::size_t depth)
{
    constexpr std::size_t bytes = 2_GiB;
    const std::size_t operations = std::min(settings.operations, std::max<std::size_t>(bytes / size, 1));
    return (operations + depth - 1) / depth * depth;
}

WorkloadOptions workload_options(const Settings& settings, const Result& of)
{
    const std::size_t size = of.size;
    const bool has_cache = of.tier == TierKind::temporary || of.tier == TierKind::batch;
    const std::size_t blocks = settings.memory / size;
    const std::size_t run = settings.scattered ? 1 : std::max<std::size_t>(2_MiB / size, 1);
    return {.block_size = size,
            .blocks = blocks,
            .run = std::max<std::size_t>(std::min(run, blocks / 5), 1),
            .warm_up = has_cache ? settings.cache / size : 0,
            .timed = of.operations,
            .depth = of.depth,
            .read_percent = settings.read_percent};
}

//! What a cache gave up may be unpinned and still be counted, until its thread has noted that. Where leases are not
//! kept those that are under way never look settled, so there is an end to it.
void wait_for_leaving(const Tier& tier)
{
    const auto patience = std::chrono::steady_clock::now() + std::chrono::milliseconds{200};
    for (auto cache = tier.cache(); cache && cache->keys != cache->regions; cache = tier.cache()) {
        if (std::chrono::steady_clock::now() > patience)
            return;
        std::this_thread::sleep_for(std::chrono::microseconds{200});
    }
}

class Measuring {
  public:
    explicit Measuring(const Settings& settings) : settings_{settings}, domain_{mrz::Domain::open(settings.device)}
    {
        report_.settings = settings;
        report_.device = domain_.name();
        report_.driver = domain_.driver();
        report_.reason = domain_.reason();
        report_.frames = domain_.dma_view() == mrz::DmaView::frames;
        const KeptInPlace before = kept_in_place();
        store_memory_ = make_store(settings.memory);
        store_.emplace(domain_.register_memory(
            store_memory_->bytes(), mrz::Access::local_write | mrz::Access::remote_read | mrz::Access::remote_write,
            {.looked_up = false}));
        const KeptInPlace now = kept_in_place();
        if (now.pinned >= before.pinned + settings.memory)
            report_.kept = Report::Kept::pinned;
        else if (now.locked >= before.locked + settings.memory)
            report_.kept = Report::Kept::locked;
        for (const Pages pages : settings.pages) {
            memories_.push_back(make_memory(pages, settings.memory));
            for (const std::size_t size : settings.sizes)
                for (const std::size_t depth : settings.depths)
                    for (const TierKind tier : mrz::app::all_tiers)
                        report_.results.push_back({.pages = pages,
                                                   .size = size,
                                                   .depth = depth,
                                                   .tier = tier,
                                                   .operations = operations_of(settings, size, depth)});
        }
    }

    Report run()
    {
        std::mt19937_64 random{1};
        for (unsigned round = 0; round < settings_.rounds; ++round) {
            // Tiers that are compared follow each other, in another order each time.
            for (std::size_t at = 0; at < report_.results.size(); at += std::size(mrz::app::all_tiers)) {
                const std::span<Result> compared =
                    std::span{report_.results}.subspan(at, std::size(mrz::app::all_tiers));
                std::vector<Result*> order;
                for (Result& one : compared)
                    order.push_back(&one);
                std::ranges::shuffle(order, random);
                for (Result* const one : order)
                    run_once(*one, round == 0);
                for (Result& one : compared)
                    one.ratio.push_back(one.operations_per_second.back() /
                                        compared.front().operations_per_second.back());
            }
            mrz::app::say("round {} of {}", round + 1, settings_.rounds);
        }
        for (Result& one : report_.results)
            std::ranges::sort(one.latencies);
        return std::move(report_);
    }

  private:
    void run_once(Result& result, bool checks)
    {
        const auto kind = std::ranges::find(settings_.pages, result.pages) - settings_.pages.begin();
        const std::span<std::byte> memory = memories_[static_cast<std::size_t>(kind)]->bytes();
        const Workload workload{workload_options(settings_, result)};
        if (checks)
            fill(memory, store_memory_->bytes());
        const KeptInPlace before = kept_in_place();
        const auto tier = mrz::app::make_tier(result.tier, domain_,
                                              {.memory = memory,
                                               .lasting = result.pages == Pages::huge,
                                               .depth = result.depth,
                                               .cache_bytes = settings_.cache});
        Traffic traffic{domain_, memory, *store_, result.size, result.depth}; // ends before its keys do
        traffic.run(*tier, workload.warm_up());

        const std::optional<mrz::CacheSnapshot> cache_before = tier->cache();
        result.latencies.reserve(result.latencies.size() + workload.timed().size());
        const double processor = mrz::app::processor_seconds();
        const auto begin = std::chrono::steady_clock::now();
        traffic.run(*tier, workload.timed(), &result.latencies);
        const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
        const auto count = static_cast<double>(workload.timed().size());
        result.operations_per_second.push_back(count / elapsed.count());
        result.processor_seconds.push_back((mrz::app::processor_seconds() - processor) / count);

        wait_for_leaving(*tier);
        const KeptInPlace now = kept_in_place();
        result.holdings = tier->holdings();
        result.kept_in_place =
            report_.kept == Report::Kept::locked ? now.locked - before.locked : now.pinned - before.pinned;
        if (const auto cache = tier->cache()) {
            result.hits += cache->hits - cache_before->hits;
            result.misses += cache->misses - cache_before->misses;
            result.evictions += cache->evictions - cache_before->evictions;
            result.merges += cache->merges - cache_before->merges;
            result.waits += cache->waits - cache_before->waits;
        }
        traffic.drain(*tier);
        if (checks) {
            check(memory, store_memory_->bytes(), workload.all(), result.size);
            report_.checked_bytes += 2 * settings_.memory;
        }
    }

    const Settings settings_;
    mrz::Domain domain_;
    std::unique_ptr<Memory> store_memory_;
    std::optional<mrz::Region> store_;
    std::vector<std::unique_ptr<Memory>> memories_; // as settings_.pages
    Report report_;
};

} // namespace

Report measure(const Settings& settings)
{
    return Measuring{settings}.run();
}

} // namespace bench::storage
