// SPDX-License-Identifier: BSD-3-Clause
#include "demo_measure.hpp"

#include "common/progress.hpp"
#include "common/signals.hpp"

#include <mrzone/host.hpp>
#include <mrzone/hugepage.hpp>
#include <mrzone/zone.hpp>

#include <rte_errno.h>
#include <rte_lcore.h>
#include <rte_memzone.h>

#include <chrono>
#include <memory>

namespace mrz::app {
namespace {

using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point start)
{
    return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

Limits limits_of(PageSizeRule rule)
{
    return {.max_page_shift = host::max_registration_shift(), .rule = rule};
}

unsigned memzone_flags(std::size_t page_size)
{
    if (page_size == 2_MiB)
        return RTE_MEMZONE_2MB;
    return page_size == 1_GiB ? RTE_MEMZONE_1GB : 0;
}

Iova iova_of(const void* address)
{
    return Iova{reinterpret_cast<std::uintptr_t>(address)};
}

} // namespace

Measurement measure_dpdk(std::size_t size, std::size_t page_size)
{
    throw_if_interrupted();
    const auto start = Clock::now();
    const std::unique_ptr<const rte_memzone, decltype(&rte_memzone_free)> zone{
        rte_memzone_reserve_aligned("mrz_demo", size, SOCKET_ID_ANY, memzone_flags(page_size),
                                    static_cast<unsigned>(page_size)),
        rte_memzone_free};
    Measurement result;
    result.build_ms = milliseconds_since(start);
    if (zone == nullptr)
        throw Error{rte_errno > 0 ? rte_errno : ENOMEM,
                    Cause{.trouble = Trouble::hugepages,
                          .what = "a memzone of " + format_size(size) + " from DPDK's own memory",
                          .limit = "pages that DPDK could take, bytes in one piece",
                          .need = size,
                          .remedy = "try a smaller --size"}};
    throw_if_interrupted();

    const PageShift page = PageShift::of(page_size);
    const Frames frames = read_frames(zone->addr, size, page);
    result.frames_known = frames.complete();
    const Layout layout =
        result.frames_known ? Layout::of_pages(frames.addresses, page) : Layout::worst_case(page, size / page_size);
    result.extents = layout.extents().size();
    const Iova iova = iova_of(zone->addr);
    result.memory_region = make_plan(layout, iova, limits_of(PageSizeRule::memory_region));
    result.umem = make_plan(layout, iova, limits_of(PageSizeRule::umem));
    return result;
}

Measurement measure_arena(std::size_t size, std::size_t page_size, unsigned slack_percent)
{
    throw_if_interrupted();
    ProgressBar bar{"zeroing pages"};
    const auto start = Clock::now();
    Arena arena = Arena::build("mrz_demo", {.size = size,
                                            .page_size = page_size,
                                            .slack_percent = slack_percent,
                                            .progress = [&bar](const BuildProgress& progress) {
                                                throw_if_interrupted();
                                                bar.update(progress.taken, progress.wanted);
                                            }});
    Measurement result;
    result.build_ms = milliseconds_since(start);
    throw_if_interrupted();

    const Window& window = arena.windows().front();
    result.frames_known = window.frames_known();
    result.extents = window.layout().extents().size();
    {
        const Zone zone = arena.reserve("mrz_demo", size);
        result.memory_region = zone.plan(limits_of(PageSizeRule::memory_region));
        result.umem = zone.plan(limits_of(PageSizeRule::umem));
    }
    arena.close();
    return result;
}

} // namespace mrz::app
