// SPDX-License-Identifier: BSD-3-Clause
#include "state.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

namespace mrz {

using cache::Charge;
using cache::Holding;
using cache::Mark;
using cache::Slot;
using cache::Wanted;

namespace {

//! Refuses what no region can be of, in the words of those who would refuse it anyway.
void check(const LeaseRequest& request)
{
    check_access(request.access);
    const cache::Range range = cache::range_of(request.memory);
    if (range.begin >= range.end)
        static_cast<void>(read_layout(request.memory, DmaView::virtual_addresses));
    // The last page of all addresses ends at none.
    const cache::Range pages = cache::whole_pages(range, cache::base_page());
    if (pages.begin >= pages.end)
        static_cast<void>(read_layout(cache::bytes_of(pages), DmaView::virtual_addresses));
}

//! Whether it may help to give regions up.
bool is_of_a_limit(const Error& error)
{
    switch (error.cause().trouble) {
    case Trouble::locked_memory:
    case Trouble::cgroup:
    case Trouble::hugepages:
        return true;
    case Trouble::unsupported: // the device's keys or translations, or memory that it cannot take at all
    case Trouble::internal:    // the kernel's memory, or a fault
        return error.error_number() == ENOMEM;
    default:
        return false;
    }
}

Charge charge_of(std::span<const Wanted> wanted)
{
    Charge sum;
    for (const Wanted& one : wanted)
        sum += cache::charge_of(one.range);
    return sum;
}

} // namespace

void CacheState::serve(Open& open)
{
    for (const Open::Rest& one : open.rest)
        check(open.requests[one.request]);
    wait_at_gate();
    round(open);
    Lock lock{mutex_};
    // Some may be there, behind others that ended.
    const std::size_t all = open.rest.size();
    serve_known(open);
    for (std::size_t served = all - open.rest.size(); served > 0; --served)
        open.record.count_hit();
    misses_ += open.rest.size();
    make_regions(lock, open);
}

void CacheState::make_regions(Lock& lock, Open& open)
{
    for (bool last_try = false;;) {
        serve_known(open);
        if (open.rest.empty())
            return;
        if (on_its_way(open)) {
            changed_.wait(lock);
            continue;
        }
        try {
            if (try_to_make(lock, open, last_try))
                return;
        } catch (const Error& error) {
            if (last_try || !is_of_a_limit(error) || !evict_idle(lock))
                throw;
            last_try = true;
        }
    }
}

//! False if something has changed meanwhile, and it is to be looked again. Whatever happens the lock is held in the
//! end.
bool CacheState::try_to_make(Lock& lock, Open& open, bool last_try)
{
    std::vector<Wanted> wanted = ranges_for(open);
    if (wanted.size() == 1 && !last_try)
        add_neighbours(wanted.front());
    if (!charge_of(wanted).within(budget_)) // what was rounded is not worth being refused for
        for (Wanted& one : wanted)
            one.range = one.asked;
    if (!make_room(lock, charge_of(wanted)))
        return false;
    start(wanted);
    lock.unlock();
    try {
        register_all(wanted);
        lock.lock();
        Charge entries;
        for (const Wanted& one : wanted)
            entries.entries += one.region->plan().total_entries();
        while (!make_room(lock, entries)) {
        }
    } catch (...) {
        if (!lock.owns_lock())
            lock.lock();
        take_back(lock, wanted);
        throw;
    }
    finish(wanted);
    changed_.notify_all(); // before anything that may throw
    if (some_ended_.load())
        ring();
    lease_made(wanted, open);
    if (wanted.front().neighbours_entries != 0)
        replace_neighbours(wanted.front());
    make_room_ahead();
    return true;
}

void CacheState::serve_known(Open& open)
{
    if (some_ended_.load())
        collect_ended(); // what ended may stand before others in the table
    std::erase_if(open.rest, [&](const Open::Rest& one) {
        const std::span<std::byte> memory = open.requests[one.request].memory;
        Slot* const slot = hold(open.record, cache::range_of(memory), open.access(one), false);
        if (slot != nullptr)
            open.leases[one.request] = make_lease(*slot, memory);
        return slot != nullptr;
    });
}

bool CacheState::on_its_way(const Open& open) const
{
    return std::ranges::any_of(on_their_way_, [&](std::uint32_t index) {
        const Holding& coming = holdings_[index];
        return marks_[index].is() == Mark::Is::on_its_way &&
               std::ranges::any_of(open.rest, [&](const Open::Rest& one) {
                   return cache::serves(coming.range, coming.access, one.asked, open.access(one));
               });
    });
}

void CacheState::start(std::span<Wanted> wanted) noexcept
{
    for (Wanted& one : wanted) {
        if (vacant_.empty()) {
            one.index = places_.load();
            places_.store(one.index + 1);
        } else {
            one.index = vacant_.back();
            vacant_.pop_back();
        }
        Holding& holding = holdings_[one.index];
        holding.range = one.range;
        holding.access = one.access;
        holding.charge = cache::charge_of(one.range);
        used_ += holding.charge;
        on_their_way_.push_back(one.index); // as all these vectors, of reserved room
        marks_[one.index].begin(one.range, one.access);
    }
}

void CacheState::finish(std::span<Wanted> wanted) noexcept
{
    for (Wanted& one : wanted) {
        Holding& holding = holdings_[one.index];
        const Region& region = *one.region;
        holding.iova = region.iova();
        holding.lkey = region.lkey();
        holding.rkey = region.rkey();
        holding.charge.entries = region.plan().total_entries();
        used_.entries += holding.charge.entries;
        holding.region = std::move(one.region);
        std::erase(on_their_way_, one.index);
        merges_ += one.merged ? 1 : 0;
        // Else it ended meanwhile: it serves those for whom it was made, who asked before, and goes with their
        // leases.
        if (marks_[one.index].change(Mark::Is::on_its_way, Mark::Is::alive)) {
            for (auto* const list : {&alive_, &newest_})
                list->insert(std::ranges::upper_bound(*list, holding.range.begin, {}, begins()), one.index);
        } else {
            some_ended_.store(true);
        }
    }
    epoch_.fetch_add(1);
    publish_newest();
}

void CacheState::replace_neighbours(const Wanted& made) noexcept
{
    // Those that it covers begin within it. Iterators, since clang 14 knows no subrange of this library.
    const auto within = [&](std::vector<std::uint32_t>& list) {
        const auto first = std::ranges::lower_bound(list, made.range.begin, {}, begins());
        return std::pair{first, std::ranges::lower_bound(first, list.end(), made.range.end, {}, begins())};
    };
    chosen_.clear();
    const auto [first, last] = within(alive_);
    for (auto at = first; at != last; ++at) {
        const Holding& there = holdings_[*at];
        if (*at != made.index && there.access == made.access && made.range.covers(there.range))
            chosen_.push_back(*at);
    }
    if (part_with(chosen_) == 0)
        return;
    for (auto* const list : {&alive_, &newest_}) {
        const auto [from, to] = within(*list);
        list->erase(std::remove_if(from, to, [&](std::uint32_t i) { return marks_[i].is() != Mark::Is::alive; }), to);
    }
    publish_newest();
}

void CacheState::take_back(Lock& lock, std::span<Wanted> wanted) noexcept
{
    for (Wanted& one : wanted) {
        Mark& mark = marks_[one.index];
        // Somebody may end it between these two.
        if (!mark.change(Mark::Is::on_its_way, Mark::Is::dying))
            mark.change(Mark::Is::ended, Mark::Is::dying);
        std::erase(on_their_way_, one.index);
        if (!one.region) { // so there is nothing to wait for, nor a length to be gone by
            leaving_ += holdings_[one.index].charge;
            vacate(one.index);
            continue;
        }
        holdings_[one.index].region = std::move(one.region);
        let_die(one.index);
        one.dying = mark.word();
    }
    changed_.notify_all(); // who waited for these has to make his own
    ring();
    changed_.wait(lock, [&] {
        return std::ranges::all_of(wanted, [&](const Wanted& one) { return marks_[one.index].word() != one.dying; });
    });
}

void CacheState::lease_made(std::span<const Wanted> wanted, Open& open)
{
    const std::uint32_t epoch = epoch_.load();
    for (const Open::Rest& one : open.rest) {
        const std::uint32_t index = wanted[one.wanted].index;
        Slot& slot = open.record.vacant();
        cache::publish(slot.held, static_cast<const Holding*>(&holdings_[index]));
        open.record.note_use(index, epoch);
        open.leases[one.request] = make_lease(slot, open.requests[one.request].memory);
    }
    open.rest.clear();
}

} // namespace mrz
