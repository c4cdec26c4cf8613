// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! What becomes of look-up when memory goes away.
#include <mrzone/foreign_memory.hpp>

#include "domain_state.hpp"

#include <algorithm>
#include <cstdint>
#include <new>
#include <utility>

namespace mrz {

void WatchedLookUp::attach(std::shared_ptr<MemoryWatch> watch)
{
    domain_->look_up().attach(watch);
    watch_ = std::move(watch);
}

void WatchedLookUp::detach() noexcept
{
    if (const std::shared_ptr<MemoryWatch> watch = std::exchange(watch_, nullptr))
        domain_->look_up().detach(watch);
}

void WatchedLookUp::shut() noexcept
{
    domain_->look_up().shut();
}

void WatchedLookUp::open() noexcept
{
    domain_->look_up().open();
}

bool WatchedLookUp::hide(std::span<const std::byte> memory) noexcept
{
    const auto start = reinterpret_cast<std::uintptr_t>(memory.data());
    return domain_->look_up().hide(start, start + memory.size());
}

void WatchedLookUp::tidy() noexcept
{
    domain_->look_up().tidy();
}

void WatchedLookUp::list_memory(std::vector<std::span<const std::byte>>& memory) const
{
    domain_->look_up().list_memory(memory);
}

void LookUp::attach(const std::shared_ptr<MemoryWatch>& watch)
{
    std::vector<std::span<const std::byte>> there;
    {
        const std::scoped_lock guard{mutex_};
        // Whoever announces a region from now on puts its memory under watch.
        watches_.push_back(watch);
        try {
            list_all(there);
        } catch (...) {
            watches_.pop_back();
            throw;
        }
    }
    try {
        for (const std::span<const std::byte> memory : there)
            watch->watch(memory);
    } catch (...) {
        detach(watch);
        throw;
    }
}

void LookUp::detach(const std::shared_ptr<MemoryWatch>& watch) noexcept
{
    const std::scoped_lock guard{mutex_};
    watches_.erase(std::ranges::find(watches_, watch));
}

// Not with the lock held: the watch may ask for a list of what is here.
void LookUp::watch(std::span<const std::byte> memory)
{
    std::shared_ptr<MemoryWatch> any;
    {
        const std::scoped_lock guard{mutex_};
        if (!watches_.empty())
            any = watches_.back();
    }
    if (any)
        any->watch(memory);
}

bool LookUp::hide(std::uint64_t start, std::uint64_t end) noexcept
{
    const std::scoped_lock guard{gate_};
    const std::size_t before = hidden_;
    // Whatever starts there or later may reach so far.
    for (auto at = memories_.lower_bound(start - std::min(start, longest_)); at != memories_.end() && at->first < end;
         ++at) {
        Foreign& memory = at->second;
        if (memory.end <= start || memory.gone)
            continue;
        memory.gone = true;
        ++hidden_;
    }
    if (hidden_ == before)
        return false;
    ++hidings_;
    for (const std::unique_ptr<SegmentTable>& table : current_)
        if (table)
            table->forget_gone();
    return true;
}

void LookUp::tidy() noexcept
{
    const std::scoped_lock guard{mutex_};
    drop_gone();
    if (!patchy_)
        return;
    try {
        change_tables(true);
    } catch (const std::bad_alloc&) { // NOLINT(bugprone-empty-catch)
        // They are missed until the next change.
    }
}

void LookUp::list_memory(std::vector<std::span<const std::byte>>& memory) const
{
    const std::scoped_lock guard{mutex_};
    list_all(memory);
}

void LookUp::list_all(std::vector<std::span<const std::byte>>& memory) const
{
    memory.reserve(memory.size() + memories_.size());
    const std::scoped_lock gate{gate_};
    for (const auto& [start, one] : memories_)
        if (!one.gone)
            memory.emplace_back(reinterpret_cast<const std::byte*>(start), one.end - start);
}

} // namespace mrz
