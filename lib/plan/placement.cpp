// SPDX-License-Identifier: BSD-3-Clause
#include <mrzone/plan.hpp>

#include "block_forms.hpp"
#include "check.hpp"
#include "key_groups.hpp"
#include "key_splits.hpp"
#include "pool_blocks.hpp"

#include <algorithm>
#include <bit>
#include <optional>
#include <utility>

namespace mrz {
namespace {

Layout layout_of(const std::vector<PageRun>& pieces, PageShift page)
{
    Layout layout;
    for (const PageRun& piece : pieces)
        layout.append(DmaAddress{piece.first << page.value()}, piece.count << page.value());
    return layout;
}

std::uint64_t below(std::uint64_t address, unsigned shift)
{
    return address % (std::uint64_t{1} << shift);
}

// Whether a driver that knows larger pages than its kernel stands could choose one, at an address that agrees with
// the DMA address one bit further. Larger pages still would need the same, so one more bit is all there is to see.
bool leads_too_far(const Layout& layout, unsigned max_shift)
{
    const Limits driver{.max_page_shift = PageShift{max_shift + 1}};
    const Iova agreeing{below(layout.extents().front().dma.value(), max_shift + 1)};
    return make_plan(layout, agreeing, driver).keys.front().page_shift > PageShift{max_shift};
}

// The largest page shift of the drivers that registration meets (mlx5's 5-bit field).
constexpr unsigned driver_max_shift = 31;

// Sets modulus, residue and entries. The address agrees with the DMA address below 2^shift at least.
void set_address(Placement& placement, const Layout& layout, unsigned shift, PageShift page, const Limits& limits)
{
    const unsigned max_shift = limits.max_page_shift.value();
    const std::uint64_t dma = layout.extents().front().dma.value();
    unsigned modulus = std::max(shift, page.value());
    placement.residue = below(dma, modulus);
    // Below the page's own shift there is no choice: both addresses are multiples of the page.
    if (max_shift < driver_max_shift && max_shift >= page.value() && leads_too_far(layout, max_shift)) {
        modulus = std::max(modulus, max_shift + 1);
        placement.residue = below(dma, modulus) ^ (std::uint64_t{1} << max_shift);
    }
    placement.modulus = PageShift{modulus};
    placement.entries = make_plan(layout, Iova{placement.residue}, limits).mtt_entries();
}

void set_order(Placement& placement, const std::vector<PageRun>& pieces, const PoolBlocks& pool, std::size_t frames)
{
    std::vector<bool> taken(frames);
    for (const PageRun& piece : pieces) {
        const std::size_t start = pool.position(piece.first);
        for (std::size_t position = start; position < start + piece.count; ++position) {
            placement.order.push_back(pool.index(position));
            taken[position] = true;
        }
    }
    for (std::size_t position = frames; position-- > 0;)
        if (!taken[position])
            placement.surplus.push_back(pool.index(position));
}

// Where a long run is split, its own start decides whether the break is aligned, and the plan alone says what a
// choice costs. All bits of the address that any entry could need are fixed, so that the plan is the same at each.
std::vector<PageRun> best_when_split(const BlockForms& forms, PageShift page, const Limits& limits,
                                     Placement& placement)
{
    std::vector<PageRun> best;
    for (unsigned shift = forms.smallest(); shift <= forms.largest(); ++shift) {
        const auto choice = forms.at(shift);
        if (!choice)
            continue;
        std::vector<PageRun> candidate = forms.pieces(*choice);
        Placement placed;
        set_address(placed, layout_of(candidate, page), forms.largest(), page, limits);
        if (best.empty() || placed.entries < placement.entries) {
            best = std::move(candidate);
            placement = placed;
        }
    }
    return best;
}

bool has_run_longer_than(const Layout& layout, std::size_t segment)
{
    return std::any_of(layout.extents().begin(), layout.extents().end(),
                       [segment](const Extent& extent) { return extent.length > segment; });
}

// One direct key over the fewest entries; none if no choice fits the device.
std::optional<std::vector<PageRun>> place_one_key(const PoolBlocks& pool, PageShift page, std::size_t count,
                                                  const Limits& limits, Placement& placement)
{
    const BlockForms forms{pool, page, count, limits};
    const std::optional<Choice> best = forms.best();
    if (!best)
        return {};
    std::vector<PageRun> pieces = forms.pieces(*best);
    const Layout layout = layout_of(pieces, page);
    if (limits.max_segment && has_run_longer_than(layout, *limits.max_segment))
        return best_when_split(forms, page, limits, placement);
    set_address(placement, layout, best->shift, page, limits);
    return pieces;
}

void check_count(std::size_t frames, std::size_t count)
{
    if (count == 0 || count > frames)
        refuse("cannot choose " + std::to_string(count) + " of " + std::to_string(frames) + " pages",
               {.limit = count == 0 ? "the pages asked for" : "the pages to choose from",
                .present = count == 0 ? count : frames,
                .need = std::max<std::size_t>(count, 1)},
               "ask for at least one page, and no more than there are");
}

// Tries choices of pages, each at the address that agrees with its first page as far as any entry needs, and keeps
// the one whose plan is the cheapest.
class Cheapest {
  public:
    Cheapest(const PoolBlocks& pool, PageShift page, std::size_t count, const PlanOptions& options,
             const Limits& limits)
        : pool_{pool}, page_{page}, count_{count}, options_{options}, limits_{limits}, unbound_{limits}
    {
        unbound_.max_mtt_entries.reset();
        // Where keys side by side may be had, one over them helps those alone that need an iova of their own.
        indirect_ = options.indirect && (limits.indirect.klm || limits.indirect.ksm);
    }

    // The pages, and their placement's address, entries and cost.
    std::optional<std::vector<PageRun>> find(Placement& placement)
    {
        placement_ = &placement;
        Placement direct;
        if (auto pieces = place_one_key(pool_, page_, count_, unbound_, direct)) {
            const std::uint64_t cost = options_.weights.mkey + options_.weights.mtt * direct.entries;
            const bool allowed = !limits_.max_mtt_entries || direct.entries <= *limits_.max_mtt_entries;
            if (allowed && (direct.entries == 1 || (!indirect_ && options_.single_key))) {
                placement = direct;
                placement.cost = cost;
                return pieces;
            }
            consider(*pieces);
        }
        if (!options_.single_key)
            consider_groups(false);
        if (indirect_) {
            consider_groups(true);
            if (limits_.indirect.klm && pool_.pages() <= most_tried)
                consider_partitions();
        }
        return std::move(best_);
    }

  private:
    void consider(const std::vector<PageRun>& pieces)
    {
        const Layout layout = layout_of(pieces, page_);
        Placement placed;
        // KSM entries lie at multiples of their length in the virtual address.
        const unsigned ksm = indirect_ && limits_.indirect.ksm ? limits_.indirect.max_ksm_shift.value() : 0;
        set_address(placed, layout, std::max({limits_.max_page_shift.value(), page_.value(), ksm}), page_, unbound_);
        PlanOptions options = options_;
        options.iova = Iova{placed.residue};
        try {
            const Plan plan = make_optimal_plan(layout, options, limits_);
            placed.entries = plan.mtt_entries();
            placed.cost = plan.cost();
        } catch (const Error&) {
            return; // more keys or entries than the device has
        }
        if (best_ && placed.cost >= placement_->cost)
            return;
        *placement_ = placed;
        best_ = pieces;
    }

    void consider_groups(bool indirect)
    {
        const unsigned page = page_.value();
        GroupTerms terms{.count = count_,
                         .weights = options_.weights,
                         .smallest = std::max(limits_.min_page_shift.value(), page) - page,
                         .largest = std::max(limits_.max_page_shift.value(), page) - page,
                         .max_klm = std::max<std::uint64_t>(limits_.indirect.max_klm_bytes >> page, 1),
                         .parts = limits_.rule == PageSizeRule::memory_region,
                         .free_iovas = indirect && limits_.indirect.klm};
        if (!indirect)
            terms.weights.indirect = 0;
        const auto groups = choose_groups(pool_.runs(), terms);
        if (!groups || (best_ && groups->cost + (indirect ? options_.weights.mkey : 0) >= placement_->cost))
            return;
        std::vector<PageRun> pieces;
        for (const KeyGroup& group : groups->keys)
            pieces.insert(pieces.end(), group.pieces.begin(), group.pieces.end());
        consider(pieces);
    }

    void consider_partitions()
    {
        const auto pool_of = [this](std::uint32_t pages) {
            std::vector<DmaAddress> frames;
            for (std::size_t i = 0; i < pool_.pages(); ++i)
                if ((pages >> i & 1) != 0)
                    frames.push_back(DmaAddress{pool_.page_number(i) << page_.value()});
            return PoolBlocks{frames, page_};
        };
        const auto cost_of = [&](std::uint32_t pages) -> std::optional<std::uint64_t> {
            const auto members = static_cast<std::size_t>(std::popcount(pages));
            const auto choice = BlockForms{pool_of(pages), page_, members, limits_}.best();
            if (!choice || (limits_.max_mtt_entries && choice->entries > *limits_.max_mtt_entries))
                return {};
            const std::uint64_t bytes = members << page_.value();
            const std::uint64_t klms = (bytes - 1) / limits_.indirect.max_klm_bytes + 1;
            return options_.weights.mkey + options_.weights.mtt * choice->entries + options_.weights.indirect * klms;
        };
        std::vector<PageRun> pieces;
        for (const std::uint32_t key : cheapest_split(pool_.pages(), count_, cost_of)) {
            const PoolBlocks pool = pool_of(key);
            const BlockForms forms{pool, page_, static_cast<std::size_t>(std::popcount(key)), limits_};
            for (const PageRun& piece : forms.pieces(forms.best().value()))
                pieces.push_back(piece);
        }
        if (!pieces.empty())
            consider(pieces);
    }

    const PoolBlocks& pool_;
    PageShift page_;
    std::size_t count_;
    const PlanOptions& options_;
    const Limits& limits_;
    Limits unbound_; // but for the most entries of a key, which matter to the plan alone
    bool indirect_ = false;
    Placement* placement_ = nullptr;
    std::optional<std::vector<PageRun>> best_;
};

} // namespace

Placement place(std::span<const DmaAddress> frames, PageShift page, std::size_t count, const PlanOptions& options,
                const Limits& limits)
{
    check_limits(limits);
    check_count(frames.size(), count);
    const PoolBlocks pool{frames, page};
    Placement placement;
    const auto pieces = Cheapest{pool, page, count, options, limits}.find(placement);
    if (!pieces)
        refuse("no choice of " + std::to_string(count) + " pages fits the device: its smallest page is " +
                   format_size(limits.min_page_shift.bytes()),
               {.limit = "the device's smallest page, in bytes,", .present = limits.min_page_shift.bytes()},
               "give more pages to choose from, or fewer to place");
    placement.order.reserve(count);
    placement.surplus.reserve(frames.size() - count);
    set_order(placement, *pieces, pool, frames.size());
    return placement;
}

Placement place(std::span<const DmaAddress> frames, PageShift page, std::size_t count, const Limits& limits)
{
    check_limits(limits);
    check_count(frames.size(), count);
    const PoolBlocks pool{frames, page};
    Placement placement;
    const auto pieces = place_one_key(pool, page, count, limits, placement);
    if (!pieces)
        refuse("no choice of " + std::to_string(count) + " pages fits the device's smallest page of " +
                   format_size(limits.min_page_shift.bytes()),
               {.limit = "the device's smallest page, in bytes,", .present = limits.min_page_shift.bytes()},
               "give more pages to choose from, or fewer to place");
    placement.cost = 1 + placement.entries;
    placement.order.reserve(count);
    placement.surplus.reserve(frames.size() - count);
    set_order(placement, *pieces, pool, frames.size());
    return placement;
}

} // namespace mrz
