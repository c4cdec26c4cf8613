// SPDX-License-Identifier: BSD-3-Clause
#include "waiting_list.hpp"

#include <algorithm>

namespace mrz::hca {

void WaitingList::set(std::uint32_t qpn, TimePoint until)
{
    const std::lock_guard lock{mutex_};
    until_[qpn] = until;
    count_.store(until_.size());
}

void WaitingList::remove(std::uint32_t qpn)
{
    const std::lock_guard lock{mutex_};
    until_.erase(qpn);
    count_.store(until_.size());
}

std::vector<std::uint32_t> WaitingList::all() const
{
    return due(TimePoint::max());
}

std::vector<std::uint32_t> WaitingList::due(TimePoint now) const
{
    std::vector<std::uint32_t> numbers;
    const std::lock_guard lock{mutex_};
    for (const auto& [qpn, until] : until_) {
        if (until <= now)
            numbers.push_back(qpn);
    }
    return numbers;
}

std::optional<WaitingList::TimePoint> WaitingList::nearest() const
{
    const std::lock_guard lock{mutex_};
    const auto first = std::min_element(until_.begin(), until_.end(),
                                        [](const auto& a, const auto& b) { return a.second < b.second; });
    if (first == until_.end() || first->second == TimePoint::max())
        return std::nullopt;
    return first->second;
}

} // namespace mrz::hca
