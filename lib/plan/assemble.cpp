// SPDX-License-Identifier: BSD-3-Clause
#include "assemble.hpp"

#include "one_key.hpp"

#include <algorithm>
#include <utility>

namespace mrz {
namespace {

void set_limit(Plan& plan)
{
    const auto fewer = [](const PlannedKey& a, const PlannedKey& b) { return a.entries < b.entries; };
    plan.limit = std::max_element(plan.keys.begin(), plan.keys.end(), fewer)->limit;
}

// Near the first DMA address, as other keys are, if there is room.
Iova ksm_iova(const Layout& layout, std::uint64_t entry, std::uint64_t wanted)
{
    const std::uint64_t rest = wanted % entry;
    const Iova near{layout.extents().front().dma.value() / entry * entry + rest};
    return fits(near, layout.length()) ? near : Iova{rest};
}

// A KSM entry begins at a multiple of its length, the first perhaps before its direct key does. This keeps the
// address that it leads to from being below 0.
void lift_first_key(Plan& plan, const DirectKeys& keys, std::uint64_t entry)
{
    PlannedKey& key = plan.keys.front();
    if (key.iova.value() >= plan.indirect->iova.value() % entry)
        return;
    const Iova lifted = key.iova + std::max(entry, keys.limits.max_page_shift.bytes());
    if (lifted < key.iova || !fits(lifted, key.length))
        return;
    key = plan_one_key(Part{keys.layout, key.offset, key.length}, lifted, keys.limits);
    set_limit(plan);
}

} // namespace

Plan plan_of_direct_keys(const DirectKeys& keys, const Partition& partition)
{
    Plan plan;
    plan.bytes = keys.layout.length();
    plan.keys.reserve(partition.begins.size());
    for (std::size_t i = 0; i < partition.begins.size(); ++i) {
        const bool last = i + 1 == partition.begins.size();
        plan.keys.push_back(
            direct_key(keys, partition.begins[i], last ? keys.memory.end() : partition.begins[i + 1]));
    }
    if (keys.limits.rule == PageSizeRule::umem)
        for (const PlannedKey& key : plan.keys)
            plan.umems.push_back({.offset = key.offset, .length = key.length, .page_shift = key.page_shift});
    set_limit(plan);
    return plan;
}

void put_klm_over(Plan& plan, const DirectKeys& keys, std::optional<Iova> iova)
{
    if (!iova)
        iova = best_iova(Part{keys.layout}, keys.limits).value_or(Iova{});
    PlannedIndirect indirect{.kind = IndirectKind::klm, .iova = *iova, .entry_shift = {}, .entries = {}};
    indirect.entries.reserve(plan.keys.size());
    const std::size_t longest = keys.limits.indirect.max_klm_bytes;
    for (std::size_t i = 0; i < plan.keys.size(); ++i)
        for (std::size_t done = 0; done < plan.keys[i].length; done += longest)
            indirect.entries.push_back({.key = i,
                                        .offset = plan.keys[i].offset + done,
                                        .length = std::min(longest, plan.keys[i].length - done)});
    plan.indirect = std::move(indirect);
}

void put_ksm_over(Plan& plan, const DirectKeys& keys, const KsmSolution& ksm, std::optional<Iova> iova)
{
    const std::uint64_t entry = std::uint64_t{1} << ksm.shift;
    const std::uint64_t head = keys.memory.head();
    if (!iova)
        iova = ksm_iova(keys.layout, entry, head - ksm.first);
    PlannedIndirect indirect{
        .kind = IndirectKind::ksm, .iova = *iova, .entry_shift = PageShift{ksm.shift}, .entries = {}};

    std::size_t key = 0;
    std::size_t begin = 0;
    for (Place place = ksm.first; begin < plan.bytes; place += entry) {
        const std::size_t end = place >= keys.memory.end() ? plan.bytes : place - head;
        while (plan.keys[key].offset + plan.keys[key].length <= begin)
            ++key;
        indirect.entries.push_back({.key = key, .offset = begin, .length = end - begin});
        begin = end;
    }
    plan.indirect = std::move(indirect);
    lift_first_key(plan, keys, entry);
}

} // namespace mrz
