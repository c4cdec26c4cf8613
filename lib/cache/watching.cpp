// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! What a cache does when memory goes away.
#include "state.hpp"

namespace mrz {

using cache::Wanted;

void CacheState::note_gone(std::span<const std::byte> memory) noexcept
{
    invalidate(memory);
}

bool CacheState::is_told_of(const cache::Range& range) const
{
    return !cache::dpdk_frees(range);
}

// Before anything is read of the memory: what happens to it from then on is told.
void CacheState::watch_over(Wanted& wanted)
{
    if (is_told_of(wanted.range))
        return;
    if (wanted.range != wanted.asked) {
        narrow(wanted);
        if (is_told_of(wanted.range))
            return;
    }
    marks_[wanted.index].change(cache::Mark::Is::on_its_way, cache::Mark::Is::ended);
}

} // namespace mrz
