// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Which memory is watched.
#include "watch.hpp"

#include <mrzone/base.hpp>
#include <mrzone/host.hpp>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>
#include <string>

namespace mrz::cache {
namespace {

//! What is to be said of a mapping that cannot be watched; nothing if others unmapped it meanwhile.
std::string complaint_of(const host::MappedMemory& mapping, const std::string& why)
{
    const auto now = host::mapped_memory(reinterpret_cast<const void*>(mapping.begin), 1);
    if (!now || now->empty() || now->front().begin != mapping.begin || now->front().end != mapping.end)
        return {};
    return "cache: memory of " + (mapping.name.empty() ? "no name" : mapping.name) + " cannot be watched (" + why +
           "): it is registered for each lease, and look-ups find regions of it until these end";
}

//! Whether there is memory in each part of \p pages. \p mappings are those that it touches, in order.
bool is_mapped(const Range& pages, std::span<const host::MappedMemory> mappings)
{
    std::uintptr_t reached = pages.begin;
    for (const host::MappedMemory& there : mappings) {
        if (there.begin > reached)
            return false;
        reached = there.end;
    }
    return reached >= pages.end;
}

} // namespace

// From the moment at which all of the range is seen to be in watched mappings, whatever happens to a part of it is
// told. What is not watched goes and comes without a word, so it is not enough that the mappings were put under
// watch: between looking where they are and doing it, a part may have been missing, and come later.
bool Watcher::watch(const Range& range)
{
    std::string complaint; // said without the lock, since a log sink may do anything, such as to lease
    const bool watched = watch(whole_pages(range, base_page()), complaint);
    if (!complaint.empty())
        log_once(Severity::warning, complaint);
    return watched;
}

bool Watcher::watch(const Range& pages, std::string& complaint)
{
    const std::scoped_lock guard{mutex_};
    if (known(pages) && userfault_.is_watched(pages))
        return true;
    // Regions come and go that no cache has, which sweeps when its own go.
    if (mappings() > 2 * swept_ + 64)
        sweep_locked();
    return watch_mappings(pages, complaint) && userfault_.is_watched(pages);
}

std::optional<host::MappedMemory> Watcher::known(const Range& range) const
{
    const std::scoped_lock guard{short_};
    const auto found = std::ranges::find_if(
        mappings_, [&](const Mapping& mapping) { return !mapping.torn && mapping.range.covers(range); });
    if (found == mappings_.end())
        return std::nullopt;
    host::MappedMemory mapping;
    mapping.begin = found->range.begin;
    mapping.end = found->range.end;
    mapping.page_size = found->page_size;
    return mapping;
}

bool Watcher::was_discarded(const Range& range) const
{
    const Range pages = whole_pages(range, base_page());
    const std::scoped_lock guard{short_};
    return std::ranges::any_of(discarded_,
                               [&](const Discarded& one) { return one.ticks > 0 && one.range.overlaps(pages); });
}

// Whole mappings: a part would be cut off to be a mapping of its own, and their number is limited.
bool Watcher::watch_mappings(const Range& pages, std::string& complaint)
{
    const auto found = host::mapped_memory(reinterpret_cast<const void*>(pages.begin), pages.length());
    // Nothing is put under watch for a range that nobody can register: it might be all of the process's memory.
    if (!found || !is_mapped(pages, *found))
        return false;
    for (const host::MappedMemory& there : *found) {
        // It unmaps without a list for events (ipc/shm.c).
        if (there.name.starts_with("/SYSV")) {
            complaint = complaint_of(there, "shmdt(2) tells nobody");
            return false;
        }
        std::list<Mapping> added{{.range = {there.begin, there.end}, .page_size = there.page_size}};
        {
            const std::scoped_lock guard{short_}; // first, so that it is torn by what happens from now on
            mappings_.splice(mappings_.begin(), added);
        }
        const auto itself = mappings_.begin();
        const Range& range = itself->range;
        // What is being mapped anew at that moment is refused for a reason that is none, so not only once.
        bool watched = false;
        for (int tries = 0; tries < 4 && !watched; ++tries)
            watched = userfault_.watch(range);
        const int error = errno;
        std::list<Mapping> old;
        {
            const std::scoped_lock guard{short_};
            for (auto one = mappings_.begin(); one != mappings_.end();) {
                const auto next = std::next(one);
                if (one == itself ? !watched : watched && range.covers(one->range))
                    old.splice(old.end(), mappings_, one);
                one = next;
            }
        }
        if (!watched) {
            complaint = complaint_of(there, error == EBUSY ? "a userfaultfd of somebody else's watches it"
                                                           : std::strerror(error));
            return false;
        }
    }
    return true;
}

void Watcher::sweep()
{
    const std::scoped_lock guard{mutex_};
    sweep_locked();
}

void Watcher::sweep_locked()
{
    std::vector<Range> wanted;
    // A range is listed before it is asked for here, which nobody does now.
    for (Listener* listener = listeners_; listener != nullptr; listener = listener->next_)
        listener->list_ranges(wanted);
    std::ranges::sort(wanted, {}, &Range::begin);
    // The farthest end of all that begin there or before.
    for (std::size_t i = 1; i < wanted.size(); ++i)
        wanted[i].end = std::max(wanted[i].end, wanted[i - 1].end);
    const auto is_wanted = [&](const Range& mapping) {
        const auto after = std::ranges::lower_bound(wanted, mapping.end, {}, &Range::begin);
        return after != wanted.begin() && std::prev(after)->end > mapping.begin;
    };
    std::list<Mapping> old;
    {
        const std::scoped_lock lists{short_};
        for (auto one = mappings_.begin(); one != mappings_.end();) {
            const auto next = std::next(one);
            if (!is_wanted(one->range))
                old.splice(old.end(), mappings_, one);
            one = next;
        }
    }
    for (const Mapping& mapping : old)
        userfault_.unwatch(mapping.range);
    swept_ = mappings();
}

std::size_t Watcher::mappings() const
{
    const std::scoped_lock guard{short_};
    return mappings_.size();
}

} // namespace mrz::cache
