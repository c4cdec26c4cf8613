// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! What a cache, and the look-up of its domain, do when memory goes away.
#include "state.hpp"

#include <string>

namespace mrz {

void CacheState::start_watch()
{
    if (options_.watch == Watch::none)
        return;
    try {
        watch_ = std::make_shared<cache::ProcessWatch>();
    } catch (const Error& error) {
        // Where it is not permitted or not there it stays so; descriptors and threads there may be some time.
        if (options_.watch == Watch::userfaultfd || error.cause().trouble == Trouble::internal)
            throw;
        log_once(Severity::warning, std::string{"cache: nobody tells what memory goes away, so it is registered for "
                                                "each lease, and nothing but DPDK's is kept: "} +
                                        error.what());
        return;
    }
    listening_.emplace(watch_->watcher(), static_cast<cache::Listener&>(*this));
    look_up_.attach(watch_);
}

void CacheState::end_watch() noexcept
{
    look_up_.detach();
    listening_.reset();
    std::shared_ptr<cache::ProcessWatch> last; // perhaps of the process, so it ends without the lock
    const Lock lock{mutex_};                   // for who takes a snapshot
    last.swap(watch_);
}

void CacheState::note_pending(bool pending) noexcept
{
    if (pending)
        look_up_.shut();
    set_pending(pending);
    if (!pending)
        look_up_.open();
}

void CacheState::note_gone(std::span<const std::byte> memory) noexcept
{
    invalidate(memory);
    if (!look_up_.hide(memory))
        return;
    some_hidden_.store(true);
    ring();
}

void CacheState::list_ranges(std::vector<cache::Range>& ranges) const
{
    const std::uint32_t places = places_.load();
    for (std::uint32_t index = 0; index < places; ++index)
        if (marks_[index].is() != cache::Mark::Is::vacant)
            ranges.push_back(marks_[index].range());
    std::vector<std::span<const std::byte>> found;
    look_up_.list_memory(found);
    for (const std::span<const std::byte> memory : found)
        ranges.push_back(cache::range_of(memory));
}

// Before the pages go, where the watch tells when they are gone.
void CacheState::note_freed(std::span<const std::byte> memory) noexcept
{
    look_up_.shut();
    note_gone(memory);
    look_up_.open();
}

bool CacheState::is_told_of(const cache::Range& range) const
{
    if (cache::dpdk_frees(range))
        return false;
    if (options_.watch == Watch::none)
        return true;
    // What is watched may have been discarded, of which DPDK knows nothing.
    if (watch_ && watch_->watcher().watch(range))
        return !watch_->watcher().was_discarded(range);
    return cache::is_dpdk_memory(range);
}

// Before anything is read of the memory: what happens to it from then on is told.
void CacheState::watch_over(cache::Wanted& wanted)
{
    if (is_told_of(wanted.range))
        return;
    if (wanted.range != wanted.asked) {
        narrow(wanted);
        if (is_told_of(wanted.range))
            return;
    }
    if (marks_[wanted.index].change(cache::Mark::Is::on_its_way, cache::Mark::Is::ended))
        unkept_.fetch_add(1);
}

} // namespace mrz
