// SPDX-License-Identifier: BSD-3-Clause
#include <mrzone/listed.hpp>

#include <algorithm>

namespace mrz {

Roll& Roll::of_this_process(std::atomic<Roll*>& place)
{
    Roll* known = place.load();
    while (known == nullptr || !known->is_ours()) {
        // Never freed: threads that show what there is may run while the process ends.
        std::unique_ptr<Roll> fresh{new Roll{known}};
        if (place.compare_exchange_strong(known, fresh.get()))
            return *fresh.release();
    }
    return *known;
}

std::shared_ptr<Roll::Entry> Roll::add(void* object, std::string name)
{
    auto entry = std::make_shared<Entry>();
    entry->name = std::move(name);
    entry->object = object;
    const std::scoped_lock guard{mutex_};
    entry->number = next_;
    entries_.push_back(entry);
    ++next_;
    return entry;
}

void Roll::remove(const Entry& entry) noexcept
{
    const std::scoped_lock guard{mutex_};
    const auto place = std::ranges::lower_bound(entries_, entry.number, {}, &Entry::number);
    if (place != entries_.end() && place->get() == &entry)
        entries_.erase(place);
}

std::shared_ptr<Roll::Entry> Roll::find(std::uint64_t number) const
{
    const std::scoped_lock guard{mutex_};
    const auto place = std::ranges::lower_bound(entries_, number, {}, &Entry::number);
    return place != entries_.end() && (*place)->number == number ? *place : nullptr;
}

std::vector<Living> Roll::living() const
{
    std::vector<Living> all;
    const std::scoped_lock guard{mutex_};
    all.reserve(entries_.size());
    for (const std::shared_ptr<Entry>& entry : entries_)
        all.push_back({.number = entry->number, .name = entry->name});
    return all;
}

} // namespace mrz
