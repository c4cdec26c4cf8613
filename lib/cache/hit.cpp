// SPDX-License-Identifier: BSD-3-Clause
#include "state.hpp"

#include <cerrno>
#include <string>

namespace mrz {

using cache::Entry;
using cache::Mark;
using cache::Range;
using cache::Record;
using cache::Registry;
using cache::Slot;
using cache::Table;

Record& CacheState::record()
{
    if (cache::last_used.cache == id_) [[likely]]
        return *cache::last_used.record;
    return Registry::get().record_of(*this, options_.keys);
}

// First the thread says what it is about to read or use, then it looks whether that is still right; who takes
// something away does it first, and then looks who said so (barrier.hpp).
Slot* CacheState::hold(Record& record, const Range& range, Access access, bool gated)
{
    Slot& slot = record.vacant();
    std::uint32_t& hint = record.hint(range.begin);
    std::uint64_t word = marks_[hint].word();
    if (Mark::is(word) != Mark::Is::alive || !marks_[hint].serves(range, access)) {
        const auto found = search(record, range, access);
        if (!found)
            return nullptr;
        hint = *found;
        word = marks_[hint].word();
        if (Mark::is(word) != Mark::Is::alive || !marks_[hint].serves(range, access))
            return nullptr;
    }
    const std::uint32_t index = hint;
    cache::publish(slot.held, static_cast<const cache::Holding*>(&holdings_[index]));
    // In this order: who clears the gate's mark has ended before what was not to be leased.
    const bool open = !gated || gate_.load() == 0;
    if (open && marks_[index].word() == word) [[likely]] { // then it was the same when its range was read
        record.note_use(index, epoch_.load(std::memory_order_relaxed));
        return &slot;
    }
    cache::let_go(slot);
    return nullptr;
}

std::optional<std::uint32_t> CacheState::search(Record& record, const Range& range, Access access) const
{
    const Table* table = nullptr;
    do {
        table = table_.load();
        cache::publish(record.table, table);
    } while (table_.load() != table);
    std::optional<std::uint32_t> found;
    for (const Table* at = table; at != nullptr && !found; at = at->base()) {
        const Entry* const entry = has_remote_right(access) ? at->find_exact(range.begin, range.end, access)
                                                            : &at->find_local(range.begin, access);
        if (entry != nullptr && entry->end >= range.end)
            found = entry->index;
    }
    record.table.store(nullptr, std::memory_order_release);
    return found;
}

Lease CacheState::make_lease(Slot& slot, std::span<std::byte> memory) noexcept
{
    return Lease{*slot.held.load(std::memory_order_relaxed), slot, memory};
}

void CacheState::wait_at_gate() const
{
    for (std::uint64_t gate = gate_.load(); gate != 0; gate = gate_.load()) {
        if ((gate & forked_bit) != 0)
            throw Error{ENOTSUP,
                        {.trouble = Trouble::unsupported,
                         .what = "using a cache",
                         .limit = "it belongs to the process that forked this one",
                         .remedy = "open a domain and make a cache here"}};
        if ((gate & closed_bit) != 0)
            throw Error{EBADF,
                        {.trouble = Trouble::invalid,
                         .what = "leasing memory",
                         .limit = "the cache was closed",
                         .remedy = "make another"}};
        gate_.wait(gate);
    }
}

Lease Cache::lease(std::span<std::byte> memory, Access access)
{
    return state_->lease(memory, access); // here, to be one function with what it calls
}

Lease CacheState::lease(std::span<std::byte> memory, Access access)
{
    Record& own = record();
    const Range range = cache::range_of(memory);
    if (range.begin < range.end) [[likely]]
        if (Slot* const slot = hold(own, range, access, true)) [[likely]] {
            own.count_hit();
            return make_lease(*slot, memory);
        }
    const LeaseRequest request{memory, access};
    Lease lease;
    Open open{.record = own, .requests = {&request, 1}, .leases = {&lease, 1}, .rest = {{.request = 0}}};
    serve(open);
    return lease;
}

std::vector<Lease> CacheState::lease_all(std::span<const LeaseRequest> requests)
{
    Record& own = record();
    std::vector<Lease> leases(requests.size());
    Open open{.record = own, .requests = requests, .leases = leases};
    for (std::size_t i = 0; i < requests.size(); ++i) {
        const Range range = cache::range_of(requests[i].memory);
        Slot* const slot = range.begin < range.end ? hold(own, range, requests[i].access, true) : nullptr;
        if (slot == nullptr) {
            open.rest.push_back({.request = i});
            continue;
        }
        own.count_hit();
        leases[i] = make_lease(*slot, requests[i].memory);
    }
    if (!open.rest.empty())
        serve(open);
    return leases;
}

} // namespace mrz
