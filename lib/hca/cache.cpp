// SPDX-License-Identifier: BSD-3-Clause
#include <hca/cache.hpp>

#include <algorithm>

namespace mrz::hca {

Cache::Cache(CacheGeometry geometry)
    : sets_{geometry.ways == 0 ? 0 : geometry.sets}, ways_{geometry.sets == 0 ? 0 : geometry.ways},
      lines_(sets_ * ways_, 0), locks_{sets_ == 0 ? nullptr : std::make_unique<std::mutex[]>(sets_)}
{
}

void Cache::look_up(std::uint64_t tag) noexcept
{
    const std::size_t set = tag % sets_;
    std::uint64_t* const first = lines_.data() + set * ways_;
    std::uint64_t* const end = first + ways_;
    const std::lock_guard lock{locks_[set]};
    std::uint64_t* const found = std::find(first, end, tag + 1);
    if (found != end) {
        hits_.fetch_add(1, std::memory_order_relaxed);
        std::rotate(first, found, found + 1);
    } else {
        misses_.fetch_add(1, std::memory_order_relaxed);
        std::rotate(first, end - 1, end);
        *first = tag + 1;
    }
}

void Cache::forget(std::uint64_t first, std::uint64_t count) noexcept
{
    if (!enabled() || count == 0)
        return;
    if (count >= sets_) {
        for (std::size_t set = 0; set < sets_; ++set)
            forget_in_set(set, first, count);
        return;
    }
    for (std::uint64_t tag = first; tag != first + count; ++tag)
        forget_in_set(tag % sets_, tag, 1);
}

void Cache::forget_in_set(std::size_t set, std::uint64_t first, std::uint64_t count) noexcept
{
    std::uint64_t* const begin = lines_.data() + set * ways_;
    std::uint64_t* const end = begin + ways_;
    const std::lock_guard lock{locks_[set]};
    std::uint64_t* const kept =
        std::remove_if(begin, end, [&](std::uint64_t line) { return line != 0 && line - 1 - first < count; });
    std::fill(kept, end, 0);
}

CacheCounts Cache::counts() const noexcept
{
    return {hits_.load(std::memory_order_relaxed), misses_.load(std::memory_order_relaxed)};
}

} // namespace mrz::hca
