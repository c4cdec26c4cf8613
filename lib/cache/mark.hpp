// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! What a region is of, and whether it may be leased: words that hits read, and by which anybody may take the
//! permission away. Private to this floor.
#pragma once

#include "range.hpp"

#include <atomic>
#include <cstdint>

namespace mrz::cache {

//! The place of one region after another. All operations are in the single order of atomics.
//!
//! Those without "whoever" in their description are called with the cache's lock held.
class alignas(32) Mark {
  public:
    enum class Is : std::uint64_t {
        vacant,
        on_its_way, //!< Being registered.
        alive,      //!< May be leased.
        leaving,    //!< Was chosen for eviction, and comes back if it is in use after all.
        ended,      //!< Not to be leased any more; perhaps in use.
        dying,      //!< Not in use, and waits to be deregistered, or is being.
    };
    static Is is(std::uint64_t word) noexcept { return Is{word & 7}; }

    //! As long as this is the same, so is the region, and what is said of it.
    [[nodiscard]] std::uint64_t word() const noexcept { return word_.load(); }
    [[nodiscard]] Is is() const noexcept { return is(word()); }
    [[nodiscard]] Range range() const noexcept { return {begin_.load(), end_.load()}; }
    [[nodiscard]] bool serves(const Range& range, Access access) const noexcept
    {
        return cache::serves(this->range(), access_.load(), range, access);
    }

    //! A region comes: from now on end_if_touching() finds it.
    void begin(const Range& range, Access access) noexcept
    {
        narrow(range);
        access_.store(access);
        word_.store(((word() >> 3) + 1) << 3 | static_cast<std::uint64_t>(Is::on_its_way));
    }
    //! The region on its way will be a smaller one.
    void narrow(const Range& range) noexcept
    {
        begin_.store(range.begin);
        end_.store(range.end);
    }
    //! False if it is something else than \p from: whoever could ended it.
    bool change(Is from, Is to) noexcept
    {
        std::uint64_t now = word();
        while (is(now) == from)
            if (word_.compare_exchange_weak(now, (now & ~std::uint64_t{7}) | static_cast<std::uint64_t>(to)))
                return true;
        return false;
    }
    //! Whoever calls this: a region that touches \p range may not be leased any more. Returns whether one was ended.
    bool end_if_touching(const Range& range) noexcept
    {
        for (;;) {
            std::uint64_t now = word();
            if (is(now) != Is::on_its_way && is(now) != Is::alive && is(now) != Is::leaving)
                return false;
            if (!this->range().overlaps(range)) {
                if (word() == now) // else another region came meanwhile, and the range was of neither
                    return false;
            } else if (word_.compare_exchange_strong(now, (now & ~std::uint64_t{7}) |
                                                              static_cast<std::uint64_t>(Is::ended))) {
                return true;
            }
        }
    }

  private:
    std::atomic<std::uint64_t> word_ = 0; // how many regions were here, and what this one is
    std::atomic<std::uintptr_t> begin_ = 0;
    std::atomic<std::uintptr_t> end_ = 0;
    std::atomic<Access> access_ = Access::local_read;
};

} // namespace mrz::cache
