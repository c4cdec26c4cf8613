// SPDX-License-Identifier: BSD-3-Clause
#include "demo_measure.hpp"

#include "memory_kinds.hpp"

#include "common/memory_layout.hpp"
#include "common/progress.hpp"
#include "common/signals.hpp"

#include <mrzone/host.hpp>
#include <mrzone/hugepage.hpp>
#include <mrzone/zone.hpp>

#include <algorithm>
#include <cerrno>
#include <chrono>

#include <sys/mman.h>

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

const RegionOptions as_ibv_reg_mr{.indirect = false};

Iova iova_of(const void* address)
{
    return Iova{reinterpret_cast<std::uintptr_t>(address)};
}

void use(const Region& region, Measurement& result)
{
    if (region.built())
        result.built_entries = region.built()->front().entries;
    result.cache = read_at_random(region);
}

//! Memory that is taken for a moment must not push out what others have; in a control group it would end the program.
std::size_t spare_memory()
{
    std::uint64_t spare = host::memory_available().value_or(256_MiB);
    if (const auto headroom = host::memory_cgroup().headroom().value())
        spare = std::min(spare, *headroom);
    return std::max(spare / 4 / 2_MiB * 2_MiB, 2_MiB);
}

//! Anonymous memory of the machine's smallest pages.
class Mapping {
  public:
    explicit Mapping(std::size_t length) : length_{length}
    {
        address_ = ::mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (address_ == MAP_FAILED)
            throw Error{errno,
                        {.trouble = Trouble::internal,
                         .what = "mapping " + format_size(length) + " of ordinary memory",
                         .limit = "the process's address space",
                         .need = length,
                         .remedy = "raise it: ulimit -v, or try a smaller --size"}};
        ::madvise(address_, length, MADV_NOHUGEPAGE); // refused only by kernels that have no other pages
    }
    Mapping(const Mapping&) = delete;
    Mapping& operator=(const Mapping&) = delete;
    ~Mapping() { ::munmap(address_, length_); }

    [[nodiscard]] std::span<std::byte> bytes() const noexcept { return {static_cast<std::byte*>(address_), length_}; }

  private:
    void* address_;
    std::size_t length_;
};

} // namespace

Measurement measure_dpdk(const Domain& domain, std::size_t size, std::size_t page_size)
{
    throw_if_interrupted();
    const auto start = Clock::now();
    const DpdkMemory memory{size, page_size};
    Measurement result;
    result.build_ms = milliseconds_since(start);
    throw_if_interrupted();

    const auto [frames_known, layout] = layout_of(memory.bytes(), page_size);
    result.frames_known = frames_known;
    result.extents = layout.extents().size();
    const Iova iova = iova_of(memory.bytes().data());
    result.memory_region = make_plan(layout, iova, limits_of(PageSizeRule::memory_region));
    result.umem = make_plan(layout, iova, limits_of(PageSizeRule::umem));
    const Region region = domain.register_memory(memory.bytes(), Access::remote_read, as_ibv_reg_mr);
    use(region, result);
    return result;
}

PlainUse measure_plain(const Domain& domain, std::size_t size)
{
    throw_if_interrupted();
    PlainUse result{.size = std::min(size, spare_memory()), .plan = {}};
    const Mapping memory{result.size};
    const Region region = domain.register_memory(memory.bytes(), Access::remote_read, as_ibv_reg_mr);
    result.plan = region.plan();
    result.cache = read_at_random(region);
    return result;
}

ArenaUse measure_arena(const Domain& domain, std::size_t size, std::size_t page_size, Surplus surplus,
                       std::chrono::duration<double> duration)
{
    throw_if_interrupted();
    ArenaUse result;
    const auto start = Clock::now();
    Arena arena = [&] {
        ProgressBar bar{"zeroing pages"};
        return Arena::build("mrz_demo", {.size = size,
                                         .page_size = page_size,
                                         .surplus = surplus,
                                         .progress =
                                             [&bar](const BuildProgress& progress) {
                                                 throw_if_interrupted();
                                                 bar.update(progress.taken, progress.wanted);
                                             },
                                         .domains = {domain}});
    }();
    result.memory.build_ms = milliseconds_since(start);
    result.phases = arena.phases();
    throw_if_interrupted();

    const Window& window = arena.windows().front();
    result.memory.frames_known = window.frames_known();
    result.memory.extents = window.layout().extents().size();
    {
        const Zone zone =
            arena.reserve("mrz_demo", size, Access::local_write | Access::remote_read | Access::remote_write);
        result.memory.memory_region = zone.plan(limits_of(PageSizeRule::memory_region));
        result.memory.umem = zone.plan(limits_of(PageSizeRule::umem));
        const Zone scratch = arena.reserve("mrz_demo_scratch", 2 * longest_transfer);
        result.registered = domain.snapshot();
        use(zone.region(domain), result.memory);
        result.refused = try_what_is_refused(domain, arena, scratch);
        result.traffic = move_data(domain, zone, scratch, duration);
    }
    arena.close();
    return result;
}

} // namespace mrz::app
