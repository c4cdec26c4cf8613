// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Making regions, while nobody is kept from anything.
#include "state.hpp"

#include <mrzone/signals_blocked.hpp>

#include <algorithm>
#include <exception>

#include <sys/mman.h>

namespace mrz {

using cache::Wanted;

namespace {

// A key without a lease must not be one that goes when its room is needed.
// What it pins ends with it: budgets count on that.
const RegionOptions evictable{.how = {.sharing = Sharing::never}, .looked_up = false, .tier = Tier::temporary};

} // namespace

// Whether one region over all has fewer entries than those there with one more: for one key less they would not be
// pinned again. It is only asked; what is registered then is planned from the frames as they are pinned.
bool CacheState::merging_saves(const Wanted& wanted) const
{
    try {
        const auto asked = cache::bytes_of(wanted.asked);
        // Pages that are not there have no frames. It would be done anyway; what goes wrong is told by registering.
        if (::madvise(asked.data(), asked.size(), MADV_POPULATE_WRITE) != 0)
            static_cast<void>(::madvise(asked.data(), asked.size(), MADV_POPULATE_READ));
        const auto layout = read_layout(cache::bytes_of(wanted.range), domain_.dma_view());
        if (!layout)
            return false;
        const Limits limits = domain_.limits();
        const auto entries = [&](const Layout& part, std::uintptr_t begin) {
            return make_optimal_plan(part, {.iova = Iova{begin}}, limits).total_entries();
        };
        const Layout alone = layout->part(wanted.asked.begin - wanted.range.begin, wanted.asked.length());
        return entries(*layout, wanted.range.begin) < wanted.neighbours_entries + entries(alone, wanted.asked.begin);
    } catch (const Error&) {
        return false;
    }
}

void CacheState::narrow(Wanted& wanted)
{
    const std::scoped_lock guard{mutex_};
    cache::Holding& holding = holdings_[wanted.index];
    used_ -= holding.charge;
    wanted.range = wanted.asked;
    wanted.merged = false;
    wanted.neighbours_entries = 0;
    holding.range = wanted.asked;
    holding.charge = cache::charge_of(wanted.asked);
    used_ += holding.charge;
    marks_[wanted.index].narrow(wanted.asked);
}

void CacheState::register_one(Wanted& wanted)
{
    if (wanted.range != wanted.asked) {
        if (wanted.neighbours_entries == 0 || merging_saves(wanted))
            try {
                wanted.region = domain_.register_memory(cache::bytes_of(wanted.range), wanted.access, evictable);
                return;
            } catch (const Error&) { // the neighbours are not worth failing for
            }
        narrow(wanted);
    }
    wanted.region = domain_.register_memory(cache::bytes_of(wanted.asked), wanted.access, evictable);
}

void CacheState::register_some(std::span<Wanted> wanted)
{
    for (Wanted& one : wanted)
        watch_over(one);
    if (wanted.size() > 1) {
        std::vector<RegionRequest> requests;
        requests.reserve(wanted.size());
        for (const Wanted& one : wanted)
            requests.push_back({cache::bytes_of(one.range), one.access, evictable});
        try {
            std::vector<Region> regions = domain_.register_all(requests);
            for (std::size_t i = 0; i < wanted.size(); ++i)
                wanted[i].region = std::move(regions[i]);
            return;
        } catch (const Error&) {
            if (std::ranges::all_of(wanted, [](const Wanted& one) { return one.range == one.asked; }))
                throw;
        }
    }
    for (Wanted& one : wanted)
        register_one(one);
}

void CacheState::register_all(std::span<Wanted> wanted)
{
    static constexpr std::size_t least = 64; // that a thread is started for: looking at the mappings costs as much
    const std::size_t parts = std::clamp<std::size_t>(wanted.size() / least, 1, options_.batch_threads);
    if (parts == 1)
        return register_some(wanted);
    std::vector<std::exception_ptr> failures(parts);
    const auto work = [&](std::size_t part) {
        const std::size_t from = wanted.size() * part / parts;
        const std::size_t to = wanted.size() * (part + 1) / parts;
        try {
            register_some(wanted.subspan(from, to - from));
        } catch (...) {
            failures[part] = std::current_exception();
        }
    };
    {
        std::vector<std::jthread> threads; // joined at the end of the block
        std::size_t started = 0;
        try {
            const SignalsBlocked blocked;
            threads.reserve(parts - 1);
            for (; started < parts - 1; ++started)
                threads.emplace_back(work, started);
        } catch (const std::exception&) { // no more threads are to be had: this one does the rest
        }
        for (std::size_t part = started; part < parts; ++part)
            work(part);
    }
    for (const std::exception_ptr& failure : failures)
        if (failure)
            std::rethrow_exception(failure);
}

} // namespace mrz
