// SPDX-License-Identifier: BSD-3-Clause
#include "movable_keys.hpp"

#include "region_state.hpp"

#include <utility>

namespace mrz {

void MovableKeys::remove(Entry& entry) noexcept
{
    const std::scoped_lock guard{mutex_};
    forget(entry);
    entry.key.reset();
    --count_;
}

RemoteRegion MovableKeys::lead_to(Entry& entry, RemoteRegion remote, std::span<const KeyPart> parts,
                                  std::span<const RegisteredMemory* const> memories)
{
    // Memory is asked for before the key is changed, so that no region's end misses it.
    Leading noted;
    std::vector<Leading::iterator> leads;
    leads.reserve(memories.size());
    for (const RegisteredMemory* const memory : memories)
        leads.push_back(noted.emplace(memory, &entry));
    const std::scoped_lock guard{mutex_};
    try {
        remote.rkey = entry.key->lead_to(remote.iova, parts);
    } catch (...) {
        entry.key->lead_nowhere();
        forget(entry);
        throw;
    }
    forget(entry);
    leading_.merge(noted); // nodes change hands, and iterators stay
    entry.leads = std::move(leads);
    remote.generation = next_generation();
    entry.remote = remote;
    return remote;
}

void MovableKeys::lead_nowhere(Entry& entry) noexcept
{
    const std::scoped_lock guard{mutex_};
    if (!entry.remote)
        return;
    entry.key->lead_nowhere();
    forget(entry);
}

std::optional<RemoteRegion> MovableKeys::remote(const Entry& entry) const
{
    const std::scoped_lock guard{mutex_};
    return entry.remote;
}

void MovableKeys::ends(const RegisteredMemory& memory) noexcept
{
    const std::scoped_lock guard{mutex_};
    for (auto at = leading_.find(&memory); at != leading_.end(); at = leading_.find(&memory)) {
        Entry& entry = *at->second;
        entry.key->lead_nowhere();
        forget(entry);
    }
}

void MovableKeys::forget(Entry& entry) noexcept
{
    for (const auto at : entry.leads)
        leading_.erase(at);
    entry.leads.clear();
    entry.remote.reset();
}

} // namespace mrz
