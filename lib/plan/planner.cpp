// SPDX-License-Identifier: BSD-3-Clause
#include <mrzone/plan.hpp>

#include "check.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <utility>

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
void offer_runs(LowestTerm& lowest, const Layout& layout, Iova iova, const Limits& limits)
{
    for (const Extent& extent : layout.extents()) {
        const Iova at = iova + extent.offset;
        lowest.offer(LimitTerm::congruence, lowest_bit(extent.dma.value() ^ at.value()), at);
        if (extent.offset != 0)
            lowest.offer(LimitTerm::breaks, lowest_bit(at.value()), at);
        if (limits.max_segment)
            offer_segments(lowest, extent, iova, *limits.max_segment);
    }
}

void offer_memory_region(LowestTerm& lowest, const Layout& layout, Iova iova, const Limits& limits)
{
    offer_runs(lowest, layout, iova, limits);
    // The same function bars what is larger than the smallest page that covers everything.
    const std::uint64_t spread = iova.value() ^ (iova.value() + (layout.length() - 1));
    const unsigned covering = std::max(static_cast<unsigned>(std::bit_width(spread)), limits.min_page_shift.value());
    if (covering <= limits.max_page_shift.value())
        lowest.offer(LimitTerm::length, covering, iova);
}

// The kernel's drivers/infiniband/hw/mlx5/devx.c, devx_umem_find_best_pgsize(), takes the page size of
// ib_umem_find_best_pgsz() with the DMA address for iova, then halves it, not below 4 KiB, until the base is aligned
// and the length a multiple. (That it leaves out sizes above the rounded length, and those above what covers
// everything, never decides: the length is no multiple of them.) A key over the umem must begin at its page boundary
// too, which an iova congruent to an aligned base does.
void offer_umem(LowestTerm& lowest, const Layout& layout, Iova iova, const Limits& limits)
{
    const std::uint64_t base = layout.extents().front().dma.value();
    lowest.offer(LimitTerm::congruence, std::max(kernel_shift, lowest_bit(base)), iova);
    offer_runs(lowest, layout, iova, limits);
    lowest.offer(LimitTerm::length, std::max(kernel_shift, lowest_bit(layout.length())), iova);
}

bool fits(Iova iova, std::size_t length)
{
    return length - 1 <= ~iova.value();
}

// The first DMA address is the best iova: it is congruent at every page size at once, so each size that any other
// iova allows it allows too, and the pages touched depend on the iova modulo the page size only. Where the key would
// then pass 2^64, the lowest address that is congruent at the largest size for which there is room at all.
Iova choose_iova(const Layout& layout, const Limits& limits)
{
    const std::uint64_t dma = layout.extents().front().dma.value();
    if (fits(Iova{dma}, layout.length()))
        return Iova{dma};
    for (unsigned shift = limits.max_page_shift.value(); shift >= limits.min_page_shift.value(); --shift) {
        const Iova iova{dma % (std::uint64_t{1} << shift)};
        if (fits(iova, layout.length()))
            return iova;
    }
    refuse("no iova leaves room for a key of " + std::to_string(layout.length()) + " bytes below 2^64",
           "register less in one key");
}

std::string remedy(LimitTerm term, unsigned min_shift)
{
    const std::string size = format_size(std::uint64_t{1} << min_shift);
    switch (term) {
    case LimitTerm::congruence:
        return "choose an iova that agrees with the DMA address below " + size + ", or no iova";
    case LimitTerm::breaks:
        return "order the memory so that each extent begins at a multiple of " + size;
    case LimitTerm::length:
        return "register a multiple of " + size;
    case LimitTerm::segment:
        return "place runs so that segments begin at a multiple of " + size;
    case LimitTerm::device:
        break;
    }
    return "use a device with other page sizes";
}

[[noreturn]] void refuse_page_size(const LimitedBy& limit, const Limits& limits)
{
    const unsigned min_shift = limits.min_page_shift.value();
    throw Error{EINVAL,
                {.trouble = Trouble::invalid,
                 .what = "no page size of the device fits the layout at iova " + format_hex(limit.at.value()),
                 .limit = std::string{to_string(limit.term)} + ": the largest page it allows, in bytes,",
                 .present = std::uint64_t{1} << limit.bit,
                 .need = std::uint64_t{1} << min_shift,
                 .remedy = remedy(limit.term, min_shift)}};
}

std::uint64_t pages_touched(Iova iova, std::size_t length, PageShift page)
{
    const std::uint64_t last = iova.value() + (length - 1);
    return (last >> page.value()) - (iova.value() >> page.value()) + 1;
}

} // namespace

Plan make_plan(const Layout& layout, std::optional<Iova> iova, const Limits& limits)
{
    check_limits(limits);
    const std::size_t length = layout.length();
    if (length == 0)
        refuse("a layout without memory cannot be planned", "append at least one extent");
    if (!iova)
        iova = choose_iova(layout, limits);
    if (!fits(*iova, length))
        refuse("a key of " + std::to_string(length) + " bytes at iova " + format_hex(iova->value()) +
                   " ends past 2^64",
               "choose a lower iova");

    const bool umem = limits.rule == PageSizeRule::umem;
    LowestTerm lowest;
    lowest.offer(LimitTerm::device, limits.max_page_shift.value(), *iova);
    if (umem)
        offer_umem(lowest, layout, *iova, limits);
    else
        offer_memory_region(lowest, layout, *iova, limits);

    const LimitedBy limit = lowest.get();
    if (limit.bit < limits.min_page_shift.value())
        refuse_page_size(limit, limits);
    const PageShift page{limit.bit};

    Plan plan;
    plan.bytes = length;
    plan.limit = limit;
    plan.keys.push_back({.iova = *iova,
                         .offset = 0,
                         .length = length,
                         .page_shift = page,
                         .entries = pages_touched(*iova, length, page)});
    if (umem)
        plan.umems.push_back({.offset = 0, .length = length, .page_shift = page});
    return plan;
}

} // namespace mrz
