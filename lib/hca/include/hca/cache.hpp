// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! A model of an adapter's on-chip cache: which table entries would have been at hand.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include <atomic>

namespace mrz::hca {

//! A cache's shape; zero sets or ways mean that there is none.
struct CacheGeometry {
    std::uint32_t sets = 0;
    std::uint32_t ways = 0;
};

struct CacheCounts {
    std::uint64_t hits = 0;
    std::uint64_t misses = 0;
};

//! Set-associative, the least recently used entry of a set goes first; holds tags only, since the tables themselves
//! are in memory. Thread-safe.
class Cache {
  public:
    explicit Cache(CacheGeometry geometry);

    [[nodiscard]] bool enabled() const noexcept { return !lines_.empty(); }
    [[nodiscard]] std::size_t capacity() const noexcept { return lines_.size(); }

    //! Uses an entry and counts whether it was there. A cache without entries does nothing.
    void touch(std::uint64_t tag) noexcept
    {
        if (enabled())
            look_up(tag);
    }
    //! Drops the entries [first, first + count): what they stood for is gone.
    void forget(std::uint64_t first, std::uint64_t count) noexcept;

    [[nodiscard]] CacheCounts counts() const noexcept;

  private:
    void look_up(std::uint64_t tag) noexcept;
    void forget_in_set(std::size_t set, std::uint64_t first, std::uint64_t count) noexcept;

    std::size_t sets_;
    std::size_t ways_;
    // Set by set, the most recently used first, empty ones last; a tag is kept plus one, so that 0 is empty.
    std::vector<std::uint64_t> lines_;
    std::unique_ptr<std::mutex[]> locks_;
    std::atomic<std::uint64_t> hits_ = 0;
    std::atomic<std::uint64_t> misses_ = 0;
};

} // namespace mrz::hca
