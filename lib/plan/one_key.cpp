// SPDX-License-Identifier: BSD-3-Clause
#include "one_key.hpp"

#include <algorithm>
#include <bit>

namespace mrz {
namespace {

// The kernel's page on every machine that mrzone runs on.
constexpr unsigned kernel_shift = 12;
constexpr std::uint64_t kernel_page = std::uint64_t{1} << kernel_shift;

// A lowest set bit that does not exist (64) keeps nothing from being larger.
unsigned lowest_bit(std::uint64_t value)
{
    return static_cast<unsigned>(std::countr_zero(value));
}

// The term with the lowest bit; the order of LimitTerm decides ties, and within a term the lowest iova.
class LowestTerm {
  public:
    void offer(LimitTerm term, unsigned bit, Iova at)
    {
        if (bit < best_.bit || (bit == best_.bit && term < best_.term))
            best_ = {.term = term, .bit = bit, .at = at};
    }
    [[nodiscard]] const LimitedBy& get() const { return best_; }

  private:
    LimitedBy best_{.term = LimitTerm::segment, .bit = 64, .at = {}};
};

// Offers the iovas at which the kernel sees a run split because it is longer than a DMA segment may be. Segments are
// made of whole kernel pages, so the first counts from the start of the page that its run begins in.
void offer_segments(LowestTerm& lowest, const Extent& extent, Iova iova, std::uint64_t segment)
{
    const std::uint64_t first = segment - extent.dma.value() % kernel_page;
    if (first >= extent.length)
        return;
    const Iova at = iova + (extent.offset + first);
    lowest.offer(LimitTerm::segment, lowest_bit(at.value()), at);
    // Going on in equal steps, no later address has a lower bit than the first or the second.
    if (extent.length - first > segment)
        lowest.offer(LimitTerm::segment, lowest_bit((at + segment).value()), at + segment);
}

// What the kernel's drivers/infiniband/core/umem.c, ib_umem_find_best_pgsz(), collects in its mask: where iova and
// DMA address differ, and the iova of each break. Older kernels count each scatter entry as a break, whether or not
// the memory goes on: hence the segments.
void offer_runs(LowestTerm& lowest, const Part& part, Iova iova, const Limits& limits)
{
    for (std::size_t i = 0; i < part.size(); ++i) {
        const Extent extent = part.extent(i);
        const Iova at = iova + extent.offset;
        lowest.offer(LimitTerm::congruence, lowest_bit(extent.dma.value() ^ at.value()), at);
        if (extent.offset != 0)
            lowest.offer(LimitTerm::breaks, lowest_bit(at.value()), at);
        if (limits.max_segment)
            offer_segments(lowest, extent, iova, *limits.max_segment);
    }
}

void offer_memory_region(LowestTerm& lowest, const Part& part, Iova iova, const Limits& limits)
{
    offer_runs(lowest, part, iova, limits);
    // The same function bars what is larger than the smallest page that covers everything.
    const std::uint64_t spread = iova.value() ^ (iova.value() + (part.length() - 1));
    const unsigned covering = std::max(static_cast<unsigned>(std::bit_width(spread)), limits.min_page_shift.value());
    if (covering <= limits.max_page_shift.value())
        lowest.offer(LimitTerm::length, covering, iova);
}

// The kernel's drivers/infiniband/hw/mlx5/devx.c, devx_umem_find_best_pgsize(), takes the page size of
// ib_umem_find_best_pgsz() with the DMA address for iova, then halves it, not below 4 KiB, until the base is aligned
// and the length a multiple. (That it leaves out sizes above the rounded length, and those above what covers
// everything, never decides: the length is no multiple of them.) A key over the umem must begin at its page boundary
// too, which an iova congruent to an aligned base does.
void offer_umem(LowestTerm& lowest, const Part& part, Iova iova, const Limits& limits)
{
    const std::uint64_t base = part.dma().value();
    lowest.offer(LimitTerm::congruence, std::max(kernel_shift, lowest_bit(base)), iova);
    offer_runs(lowest, part, iova, limits);
    lowest.offer(LimitTerm::length, std::max(kernel_shift, lowest_bit(part.length())), iova);
}

std::uint64_t pages_touched(Iova iova, std::size_t length, unsigned shift)
{
    const std::uint64_t last = iova.value() + (length - 1);
    return (last >> shift) - (iova.value() >> shift) + 1;
}

} // namespace

Part::Part(const Layout& layout, std::size_t offset, std::size_t length) : offset_{offset}, length_{length}
{
    const std::span<const Extent> all = layout.extents();
    const auto begins_after = [](std::size_t place, const Extent& extent) { return place < extent.offset; };
    const auto first = std::upper_bound(all.begin(), all.end(), offset, begins_after) - 1;
    auto end = first + 1;
    // Most parts are short.
    while (end != all.end() && end->offset < offset + length)
        ++end;
    extents_ = {first, end};
}

PlannedKey plan_one_key(const Part& part, Iova iova, const Limits& limits)
{
    LowestTerm lowest;
    lowest.offer(LimitTerm::device, limits.max_page_shift.value(), iova);
    if (limits.rule == PageSizeRule::umem)
        offer_umem(lowest, part, iova, limits);
    else
        offer_memory_region(lowest, part, iova, limits);

    PlannedKey key{.iova = iova, .offset = part.offset(), .length = part.length()};
    key.limit = lowest.get();
    if (is_possible(key, limits)) {
        key.page_shift = PageShift{key.limit.bit};
        key.entries = pages_touched(iova, part.length(), key.limit.bit);
    }
    return key;
}

bool fits(Iova iova, std::size_t length)
{
    return length - 1 <= ~iova.value();
}

// The first DMA address is the best iova: it is congruent at every page size at once, so each size that any other
// iova allows it allows too, and the pages touched depend on the iova modulo the page size only. Where the key would
// then pass 2^64, the lowest address that is congruent at the largest size for which there is room at all.
std::optional<Iova> best_iova(const Part& part, const Limits& limits)
{
    const std::uint64_t dma = part.dma().value();
    if (fits(Iova{dma}, part.length()))
        return Iova{dma};
    for (unsigned shift = limits.max_page_shift.value(); shift >= limits.min_page_shift.value(); --shift) {
        const Iova iova{dma % (std::uint64_t{1} << shift)};
        if (fits(iova, part.length()))
            return iova;
    }
    return std::nullopt;
}

} // namespace mrz
