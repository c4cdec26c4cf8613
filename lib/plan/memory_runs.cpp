// SPDX-License-Identifier: BSD-3-Clause
#include "memory_runs.hpp"

#include <algorithm>
#include <bit>

namespace mrz {
namespace {

constexpr std::uint64_t page = 4096;

unsigned lowest_bit(std::uint64_t value)
{
    return static_cast<unsigned>(std::countr_zero(value));
}

} // namespace

std::optional<MemoryRuns> MemoryRuns::of(const Layout& layout, std::optional<Iova> iova)
{
    const std::span<const Extent> extents = layout.extents();
    MemoryRuns memory;
    memory.head_ = extents.front().dma.value() % page;
    memory.runs_.reserve(extents.size());
    for (const Extent& extent : extents) {
        const bool first = extent.offset == 0;
        const std::uint64_t skipped = first ? memory.head_ : 0;
        Run run{.begin = extent.offset + (memory.head_ - skipped),
                .end = extent.offset + memory.head_ + extent.length,
                .dma = extent.dma.value() - skipped};
        if (first)
            run.begin = 0;
        if (&extent == &extents.back()) {
            memory.tail_ = (page - run.end % page) % page;
            run.end += memory.tail_;
        }
        if (run.begin % page != 0 || run.end % page != 0 || run.dma % page != 0)
            return std::nullopt;
        if (iova)
            run.congruence = lowest_bit(extent.dma.value() ^ (*iova + extent.offset).value());
        memory.longest_ = std::max(memory.longest_, run.length());
        memory.common_ = std::min({memory.common_, lowest_bit(run.begin), lowest_bit(run.end), lowest_bit(run.dma)});
        memory.runs_.push_back(run);
    }
    return memory;
}

unsigned MemoryRuns::joint(std::size_t i) const noexcept
{
    const Run& before = runs_[i - 1];
    const Run& after = runs_[i];
    return std::min(
        {lowest_bit(before.dma_at(before.end)), lowest_bit(after.dma), before.congruence, after.congruence});
}

} // namespace mrz
