// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Budgets: who has to go, and when that is done.
#include "state.hpp"

#include <algorithm>
#include <cerrno>
#include <functional>
#include <iterator>
#include <limits>
#include <new>
#include <string>
#include <utility>

namespace mrz {

using cache::Charge;
using cache::Holding;
using cache::Mark;
using cache::Record;
using cache::Table;

namespace cache {

Charge charge_of(const Range& range) noexcept
{
    return {.bytes = whole_pages(range, base_page()).length(), .keys = 1};
}

} // namespace cache

namespace {

struct Part {
    const char* name;
    std::uint64_t Charge::*value;
};
constexpr Part parts[] = {{"bytes", &Charge::bytes}, {"keys", &Charge::keys}, {"entries", &Charge::entries}};

//! What of \p need does not fit.
Charge lacking(const Charge& used, const Charge& need, const Charge& budget)
{
    Charge lack;
    for (const Part& part : parts) {
        const std::uint64_t left = budget.*part.value - std::min(used.*part.value, budget.*part.value);
        lack.*part.value = need.*part.value - std::min(left, need.*part.value);
    }
    return lack;
}

[[noreturn]] void refuse(const Charge& used, const Charge& need, const Charge& budget)
{
    for (const Part& part : parts) {
        const std::uint64_t all = budget.*part.value;
        if (need.*part.value > all)
            throw Error{E2BIG,
                        {.trouble = Trouble::invalid,
                         .what = "making regions",
                         .limit = std::string{"the cache's budget of "} + part.name,
                         .present = all,
                         .need = need.*part.value,
                         .remedy = "make the cache with a larger budget, or register the memory for good"}};
    }
    for (const Part& part : parts)
        if (used.*part.value + need.*part.value > budget.*part.value)
            throw Error{ENOBUFS,
                        {.trouble = Trouble::busy,
                         .what = "making regions",
                         .limit = std::string{"leases hold all of the cache's budget of "} + part.name,
                         .present = budget.*part.value,
                         .need = used.*part.value + need.*part.value,
                         .remedy = "release leases, or make the cache with a larger budget"}};
    throw Error{ENOBUFS, {.trouble = Trouble::busy, .what = "making regions", .limit = "no room", .remedy = {}}};
}

void complain_of_memory() noexcept
{
    log_once(Severity::warning, "cache: no memory for a table, so regions that are there may not be found");
}

} // namespace

bool CacheState::fits(const Charge& need) const noexcept
{
    return lacking(used_, need, budget_).within({});
}

bool CacheState::make_room(Lock& lock, const Charge& need)
{
    if (fits(need))
        return true;
    if (!need.within(budget_))
        refuse(used_, need, budget_);
    if (some_ended_.load())
        collect_ended();
    const Charge staying = [&] {
        Charge rest = used_;
        return rest -= leaving_;
    }();
    const Charge least = lacking(staying, need, budget_);
    if (!least.within({})) {
        Charge most = least;
        // A little more than what is needed now, so that many who come after find room and need not wait.
        for (const Part& part : parts)
            if (least.*part.value > 0)
                most.*part.value += budget_.*part.value / 16;
        if (!evict(least, most) && leaving_.within({})) {
            // What ended, or was taken, since it was looked for above is neither idle nor leaving yet.
            collect_ended();
            if (leaving_.within({}) && !evict(least, most))
                refuse(used_, need, budget_);
        }
    }
    ++waits_;
    ring();
    changed_.wait(lock);
    return false;
}

// Who waits for room sleeps until the thread has deregistered, which costs several times what registering does.
void CacheState::make_room_ahead() noexcept
{
    if (evictions_ == 0)
        return;
    Charge least;
    Charge most;
    for (const Part& part : parts) {
        const std::uint64_t all = budget_.*part.value;
        const std::uint64_t staying = used_.*part.value - leaving_.*part.value;
        const std::uint64_t free = all - std::min(staying, all);
        if (free >= all / 32)
            continue;
        least.*part.value = 1;
        most.*part.value = all / 16;
    }
    try {
        if (!least.within({}) && evict(least, most))
            ring();
    } catch (const std::bad_alloc&) { // NOLINT(bugprone-empty-catch)
        // Then it is made when it is needed.
    }
}

bool CacheState::evict(const Charge& least, const Charge& most)
{
    if (!look_who_holds())
        return false;
    const std::uint32_t now = epoch_.load();
    std::vector<std::pair<std::uint32_t, std::uint32_t>> idle; // age, index
    Charge all;
    for (const std::uint32_t index : alive_) {
        if (held_[index] || marks_[index].is() != Mark::Is::alive)
            continue;
        std::uint32_t age = std::numeric_limits<std::uint32_t>::max();
        // Right over the end of the epochs, too, but for what was not used in half a round.
        records_.for_each([&](const Record& record) { age = std::min(age, now - record.last_use(index)); });
        idle.emplace_back(age, index);
        all += holdings_[index].charge;
    }
    if (!least.within(all))
        return false;
    std::ranges::sort(idle, std::greater{}, &std::pair<std::uint32_t, std::uint32_t>::first);
    chosen_.clear();
    Charge given;
    for (auto oldest = idle.begin(); oldest != idle.end() && !most.within(given); ++oldest) {
        chosen_.push_back(oldest->second);
        given += holdings_[oldest->second].charge;
    }
    const std::size_t gone = give_up(chosen_);
    evictions_ += gone;
    return gone > 0;
}

bool CacheState::evict_idle(Lock& lock)
{
    chosen_.assign(alive_.begin(), alive_.end());
    const std::size_t gone = give_up(chosen_);
    evictions_ += gone;
    if (leaving_.keys == 0)
        return false;
    ++waits_;
    ring();
    // Those that leave now. They go in the order in which they came; others may follow for ever.
    const std::uint64_t until = deregistered_ + leaving_.keys;
    changed_.wait(lock, [&] { return deregistered_ >= until; });
    return true;
}

std::size_t CacheState::give_up(std::span<const std::uint32_t> chosen) noexcept
{
    const std::size_t gone = part_with(chosen);
    if (gone > 0) {
        std::erase_if(alive_, [&](std::uint32_t index) { return marks_[index].is() != Mark::Is::alive; });
        publish_table();
    }
    return gone;
}

std::size_t CacheState::part_with(std::span<const std::uint32_t> chosen) noexcept
{
    if (chosen.empty())
        return 0;
    for (const std::uint32_t index : chosen)
        marks_[index].change(Mark::Is::alive, Mark::Is::leaving);
    const bool known = look_who_holds();
    std::size_t gone = 0;
    for (const std::uint32_t index : chosen) {
        if (!known || held_[index])
            marks_[index].change(Mark::Is::leaving, Mark::Is::alive); // unless it was ended meanwhile
        else if (marks_[index].change(Mark::Is::leaving, Mark::Is::dying)) {
            let_die(index);
            ++gone;
        }
    }
    if (gone > 0)
        ring_soon();
    return gone;
}

void CacheState::collect_ended() noexcept
{
    some_ended_.store(false);
    // First what ended, which nobody new can hold, and only then who holds it. What ends meanwhile is for the next
    // time.
    chosen_.clear();
    const std::uint32_t places = places_.load();
    for (std::uint32_t index = 0; index < places; ++index)
        if (marks_[index].is() == Mark::Is::ended && holdings_[index].region)
            chosen_.push_back(index);
    // Who empties a slot from now on rings; who did before is seen not to hold it.
    records_.for_each([](Record& record) { record.attention.store(true); });
    if (cache::everybody_published()) {
        held_.assign(held_.size(), false);
        records_.for_each([&](Record& record) {
            bool holds_ended = false;
            record.for_each_held([&](const Holding* held) {
                held_[held->index] = true;
                holds_ended = holds_ended || marks_[held->index].is() == Mark::Is::ended;
            });
            if (!holds_ended) // by the same look: another might miss a slot that was emptied in between
                record.attention.store(false);
        });
        for (const std::uint32_t index : chosen_)
            if (!held_[index]) {
                marks_[index].change(Mark::Is::ended, Mark::Is::dying);
                let_die(index);
            }
    }
    std::erase_if(alive_, [&](std::uint32_t index) { return marks_[index].is() != Mark::Is::alive; });
    publish_table();
}

void CacheState::let_die(std::uint32_t index) noexcept
{
    leaving_ += holdings_[index].charge;
    dying_.push_back(index);
}

void CacheState::vacate(std::uint32_t index) noexcept
{
    used_ -= holdings_[index].charge;
    leaving_ -= holdings_[index].charge;
    holdings_[index].charge = {};
    marks_[index].change(Mark::Is::dying, Mark::Is::vacant);
    vacant_.push_back(index);
}

bool CacheState::look_who_holds() noexcept
{
    if (!cache::everybody_published())
        return false;
    glance_who_holds();
    return true;
}

void CacheState::glance_who_holds() noexcept
{
    held_.assign(held_.size(), false);
    records_.for_each(
        [&](const Record& record) { record.for_each_held([&](const Holding* held) { held_[held->index] = true; }); });
}

std::unique_ptr<Table> CacheState::unread_table()
{
    static constexpr std::size_t enough = 16; // to look who reads them
    if (unread_.empty() && retired_.size() >= enough && cache::everybody_published()) {
        std::vector<const Table*> read;
        records_.for_each([&](const Record& record) { read.push_back(record.table.load()); });
        unread_.reserve(unread_.size() + retired_.size());
        const auto unread = std::partition(retired_.begin(), retired_.end(), [&](const auto& table) {
            return std::ranges::find(read, table.get()) != read.end();
        });
        std::for_each(unread, retired_.end(), [](const auto& table) { table->forget_base(); });
        std::move(unread, retired_.end(), std::back_inserter(unread_));
        retired_.erase(unread, retired_.end());
    }
    if (unread_.empty())
        return std::make_unique<Table>();
    auto table = std::move(unread_.back());
    unread_.pop_back();
    return table;
}

std::shared_ptr<Table> CacheState::unused_base()
{
    const auto unused = std::ranges::find_if(bases_, [](const auto& base) { return base.use_count() == 1; });
    return unused != bases_.end() ? *unused : bases_.emplace_back(std::make_shared<Table>());
}

void CacheState::publish_table() noexcept
{
    try {
        const std::shared_ptr<Table> base = unused_base();
        base->rebuild(rows_of(alive_));
        publish({}, base);
        newest_.clear();
    } catch (const std::bad_alloc&) {
        // Not even to be looked at again: the place of one that went may be another's by then.
        std::erase_if(newest_, [&](std::uint32_t index) { return marks_[index].is() != Mark::Is::alive; });
        complain_of_memory();
    }
}

void CacheState::publish_newest() noexcept
{
    static constexpr std::size_t few = 32;
    // Then one of all costs as much, shared by those that came since the last.
    if (newest_.size() > few && newest_.size() * newest_.size() > 2 * alive_.size())
        return publish_table();
    try {
        publish(rows_of(newest_), published_->shared_base());
    } catch (const std::bad_alloc&) {
        complain_of_memory();
    }
}

std::span<const cache::Row> CacheState::rows_of(std::span<const std::uint32_t> indices) noexcept
{
    rows_.clear();
    for (const std::uint32_t index : indices) {
        const Holding& holding = holdings_[index];
        if (marks_[index].is() == Mark::Is::alive)
            rows_.push_back({holding.range.begin, {holding.range.end, index, holding.access}});
    }
    return rows_;
}

void CacheState::publish(std::span<const cache::Row> rows, std::shared_ptr<const Table> base)
{
    auto table = unread_table();
    table->rebuild(rows, std::move(base));
    retired_.reserve(retired_.size() + 1);
    table_.store(table.get());
    std::swap(published_, table);
    retired_.push_back(std::move(table));
}

} // namespace mrz
