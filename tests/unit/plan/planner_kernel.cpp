// SPDX-License-Identifier: BSD-3-Clause
// The planner against the kernel's own procedure, redone from its description: scatter entries made of 4-KiB pages,
// one mask, the largest size that the mask's lowest bit leaves (drivers/infiniband/core/umem.c,
// ib_umem_find_best_pgsz; drivers/infiniband/hw/mlx5/devx.c, devx_umem_find_best_pgsize).
#include <mrzone/plan.hpp>

#include "random_layout.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <optional>

using namespace mrz;
using namespace mrz::test;

namespace {

struct ScatterEntry {
    std::uint64_t dma;
    std::uint64_t length;
};

struct PinnedMemory {
    std::vector<ScatterEntry> entries;
    std::uint64_t page_offset = 0; // where in the first page the memory begins
    std::uint64_t length = 0;
};

// Pages join the entry before them unless that would grow past `longest()`.
template <class Longest>
PinnedMemory pin(const Layout& layout, Longest longest)
{
    PinnedMemory memory{
        .entries = {}, .page_offset = layout.extents().front().dma.value() % small_page, .length = layout.length()};
    std::uint64_t limit = longest();
    for (const Extent& extent : layout.extents()) {
        const std::uint64_t end = extent.dma.value() + extent.length;
        for (std::uint64_t page = extent.dma.value() / small_page * small_page; page < end; page += small_page) {
            if (!memory.entries.empty()) {
                ScatterEntry& last = memory.entries.back();
                if (last.dma + last.length == page && last.length + small_page <= limit) {
                    last.length += small_page;
                    continue;
                }
            }
            memory.entries.push_back({.dma = page, .length = small_page});
            limit = longest();
        }
    }
    return memory;
}

enum class Kernel { every_entry_is_a_break, looks_whether_memory_goes_on };

std::uint64_t sizes_from(unsigned shift)
{
    return shift > 63 ? 0 : ~std::uint64_t{0} << shift;
}

std::uint64_t sizes_up_to(unsigned shift)
{
    return shift >= 63 ? ~std::uint64_t{0} : ~sizes_from(shift + 1);
}

std::uint64_t best_size(const PinnedMemory& memory, std::uint64_t sizes, std::uint64_t iova, Kernel kernel)
{
    const std::uint64_t spread = iova ^ (iova + memory.length - 1);
    std::uint64_t mask = sizes & sizes_from(spread < 2 ? 1 : static_cast<unsigned>(std::bit_width(spread)));
    std::uint64_t address = iova;
    std::uint64_t skipped = memory.page_offset;
    std::optional<std::uint64_t> goes_on_at;
    for (const ScatterEntry& entry : memory.entries) {
        const bool first = &entry == &memory.entries.front();
        if (kernel == Kernel::every_entry_is_a_break || goes_on_at != entry.dma) {
            mask |= (entry.dma + skipped) ^ address;
            if (!first)
                mask |= address;
        }
        goes_on_at = entry.dma + entry.length;
        address += entry.length - skipped;
        skipped = 0;
    }
    if (mask != 0)
        sizes &= sizes_up_to(static_cast<unsigned>(std::countr_zero(mask)));
    return std::bit_floor(sizes);
}

std::uint64_t best_umem_size(const PinnedMemory& memory, std::uint64_t sizes, Kernel kernel)
{
    const auto order = static_cast<unsigned>(std::bit_width(memory.length - 1));
    sizes &= sizes_up_to(std::max(order, 12U));
    const std::uint64_t base = memory.entries.front().dma + memory.page_offset;
    std::uint64_t size = best_size(memory, sizes, base, kernel);
    while (size > small_page && (base % size != 0 || memory.length % size != 0))
        size /= 2;
    return size;
}

std::uint64_t supported(const Limits& limits)
{
    return sizes_from(limits.min_page_shift.value()) & sizes_up_to(limits.max_page_shift.value());
}

void expect_size(const Layout& layout, Iova iova, const Limits& limits, std::uint64_t size)
{
    if (size == 0) {
        EXPECT_THROW(make_plan(layout, iova, limits), Error);
        return;
    }
    EXPECT_EQ(make_plan(layout, iova, limits).keys.front().page_shift.bytes(), size)
        << "iova " << iova.value() << ", " << layout.extents().size() << " extents";
}

Limits random_limits(Dice& dice)
{
    Limits limits{.max_page_shift = PageShift{static_cast<unsigned>(dice.roll(12, 31))}};
    if (dice.one_in(4))
        limits.min_page_shift = PageShift{static_cast<unsigned>(dice.roll(12, limits.max_page_shift.value()))};
    return limits;
}

// A caller who knows the iova offers the kernel only what the iova is aligned to.
std::uint64_t offered(const Limits& limits, Iova iova)
{
    const auto aligned = static_cast<unsigned>(std::countr_zero(iova.value()));
    return supported(limits) & sizes_up_to(std::max(aligned, 12U));
}

} // namespace

TEST(PlannerKernel, RecentKernelsMergeWhateverTheScatterListLooksLike)
{
    Dice dice{11};
    for (int i = 0; i < 30000 && !HasFailure(); ++i) {
        const Layout layout = random_layout(dice, Ends::within_pages);
        const Iova iova = random_iova(dice, layout);
        const Limits limits = random_limits(dice);
        const PinnedMemory memory = pin(layout, [&] { return dice.roll(1, 8) * small_page; });
        expect_size(layout, iova, limits,
                    best_size(memory, supported(limits), iova.value(), Kernel::looks_whether_memory_goes_on));
    }
}

TEST(PlannerKernel, OlderKernelsBreakWhereASegmentIsFull)
{
    Dice dice{12};
    for (int i = 0; i < 30000 && !HasFailure(); ++i) {
        const Layout layout = random_layout(dice, Ends::within_pages);
        const Iova iova = random_iova(dice, layout);
        Limits limits = random_limits(dice);
        limits.max_segment = dice.roll(1, 8) * small_page;
        const PinnedMemory memory = pin(layout, [&] { return *limits.max_segment; });
        expect_size(layout, iova, limits,
                    best_size(memory, supported(limits), iova.value(), Kernel::every_entry_is_a_break));
    }
}

TEST(PlannerKernel, UmemsAreSizedByTheirOwnRule)
{
    Dice dice{13};
    for (int i = 0; i < 30000 && !HasFailure(); ++i) {
        const Layout layout = random_layout(dice, Ends::within_pages);
        Iova iova = random_iova(dice, layout);
        const std::uint64_t base = layout.extents().front().dma.value();
        if (iova.value() % small_page != base % small_page)
            iova = Iova{base};
        // Below its smallest size the kernel halves on, to 4 KiB; a device that has no such pages is not planned for.
        Limits limits{.max_page_shift = PageShift{static_cast<unsigned>(dice.roll(12, 31))},
                      .rule = PageSizeRule::umem};
        expect_size(layout, iova, limits,
                    best_umem_size(pin(layout, [&] { return dice.roll(1, 8) * small_page; }), offered(limits, iova),
                                   Kernel::looks_whether_memory_goes_on));
        limits.max_segment = dice.roll(1, 8) * small_page;
        expect_size(layout, iova, limits,
                    best_umem_size(pin(layout, [&] { return *limits.max_segment; }), offered(limits, iova),
                                   Kernel::every_entry_is_a_break));
    }
}
