// SPDX-License-Identifier: BSD-3-Clause
#include "proposal.hpp"

#include <mrzone/host.hpp>

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>

namespace mrz::mlx5 {
namespace {

//! A direct key over a part of a pinning, at an iova that agrees with its pages.
PlannedKey key_over(const UmemPiece& piece, Iova iova)
{
    const PageShift page = piece.page_shift;
    const std::uint64_t last = iova.value() + (piece.length - 1);
    LimitedBy limit = piece.limit;
    limit.at = iova;
    return {.iova = iova,
            .offset = piece.offset,
            .length = piece.length,
            .page_shift = page,
            .entries = (last >> page.value()) - (iova.value() >> page.value()) + 1,
            .limit = limit};
}

bool agree(Iova iova, DmaAddress dma, PageShift page)
{
    return ((iova.value() ^ dma.value()) & (page.bytes() - 1)) == 0;
}

std::string counted(const Plan& plan)
{
    const std::uint64_t keys = plan.keys.size() + (plan.indirect ? 1 : 0);
    return std::to_string(plan.total_entries()) + (plan.total_entries() == 1 ? " entry" : " entries") + " in " +
           std::to_string(keys) + (keys == 1 ? " key" : " keys");
}

std::vector<UmemPiece> umems_of(const std::vector<PinnedPiece>& pieces)
{
    std::vector<UmemPiece> umems;
    umems.reserve(pieces.size());
    for (const PinnedPiece& piece : pieces)
        umems.push_back({.offset = piece.offset,
                         .length = piece.length,
                         .page_shift = piece.pinning->page_shift(),
                         .limit = piece.pinning->limit()});
    return umems;
}

//! Whether this process may write all of it now, as it might when it was pinned: if not, the kernel would not pin it
//! for a device that writes.
bool may_be_written(const RegisterRequest& request)
{
    const auto mappings = host::mapped_memory(request.address, request.length);
    return !mappings || std::ranges::all_of(*mappings, &host::MappedMemory::writable);
}

//! What ibv_reg_mr would build. Throws Error if it can't.
Plan plan_of_memory_region(const Layout& layout, PlanOptions options, const Limits& limits)
{
    options.indirect = false;
    return make_optimal_plan(layout, options, limits);
}

std::optional<Plan> other_way(const Layout& layout, const PlanOptions& options, const Limits& limits)
{
    try {
        return plan_of_memory_region(layout, options, limits);
    } catch (const Error&) {
        return std::nullopt;
    }
}

} // namespace

std::optional<Plan> plan_over(std::span<const UmemPiece> pieces, const Layout& layout, Iova iova,
                              const PlanOptions& options, const Limits& limits)
{
    const auto dma_of = [&](const UmemPiece& piece) {
        return layout.part(piece.offset, piece.length).extents().front().dma;
    };
    Plan plan;
    plan.bytes = layout.length();
    plan.weights = options.weights;
    if (pieces.size() == 1 && agree(iova, dma_of(pieces.front()), pieces.front().page_shift)) {
        plan.keys.push_back(key_over(pieces.front(), iova));
    } else {
        if (!options.indirect || !limits.indirect.klm)
            return std::nullopt;
        PlannedIndirect indirect{.kind = IndirectKind::klm, .iova = iova, .entry_shift = {}, .entries = {}};
        for (std::size_t i = 0; i < pieces.size(); ++i) {
            const UmemPiece& piece = pieces[i];
            // Its DMA address agrees with the pages that it lies in, whatever their size.
            plan.keys.push_back(key_over(piece, Iova{dma_of(piece).value()}));
            const std::size_t longest = limits.indirect.max_klm_bytes;
            for (std::size_t done = 0; done < piece.length; done += longest)
                indirect.entries.push_back(
                    {.key = i, .offset = piece.offset + done, .length = std::min(longest, piece.length - done)});
        }
        if (indirect.entries.size() > limits.indirect.max_entries.value_or(indirect.entries.size()))
            return std::nullopt;
        plan.indirect = std::move(indirect);
    }
    for (const PlannedKey& key : plan.keys)
        plan.umems.push_back({.offset = key.offset, .length = key.length, .page_shift = key.page_shift});
    plan.limit = std::ranges::max_element(plan.keys, {}, &PlannedKey::entries)->limit;
    return plan;
}

Proposal propose(const Pinnings& pinnings, const RegisterRequest& request, const Layout& layout,
                 const PlanOptions& options, const Limits& umem, const Limits& verbs)
{
    const Way way = request.options.way;
    if (way == Way::memory_region)
        return {.plan = plan_of_memory_region(layout, options, verbs)};
    if (request.options.paging == Paging::on_demand)
        throw Error{EOPNOTSUPP,
                    {.trouble = Trouble::unsupported,
                     .what = "registering " + format_size(request.length) + " on demand by umems of mlx5",
                     .limit = "a umem's pages are pinned",
                     .remedy = "register it by the way memory_region, which is ibv_reg_mr, or pinned"}};

    Proposal proposal;
    const bool writes = grants(request.access, Access::local_write);
    auto pieces = pinnings.covering({request.address, request.length}, layout, writes, request.options.sharing);
    if (!pieces.empty() && (!writes || may_be_written(request))) {
        if (auto plan = plan_over(umems_of(pieces), layout, request.iova, options, umem))
            proposal = {.plan = *std::move(plan), .basis = std::make_shared<SharedPinnings>(std::move(pieces))};
    }
    if (way == Way::fewest_entries || !proposal.basis) {
        Plan fresh = make_optimal_plan(layout, options, umem);
        if (!proposal.basis || fresh.cost() < proposal.plan.cost())
            proposal = {.plan = std::move(fresh)};
    }
    if (auto region = other_way(layout, options, verbs); region && region->cost() < proposal.plan.cost()) {
        if (way == Way::fewest_entries)
            return {.plan = *std::move(region)};
        proposal.remark = "ibv_reg_mr would have " + counted(*region) + " where umems have " +
                          counted(proposal.plan) + " (the way fewest_entries takes it)";
    }
    return proposal;
}

} // namespace mrz::mlx5
