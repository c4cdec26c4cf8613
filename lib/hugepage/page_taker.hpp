// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Takes hugepages from a pool into files, over threads, without a page fault that could end in a signal.
#pragma once

#include "page_files.hpp"

#include <mrzone/hugepage.hpp>

#include <atomic>
#include <cstddef>
#include <functional>
#include <optional>

namespace mrz::hugepage {

//! Tells a caller how far the taking has come. Workers add; the building thread tells.
class ProgressMeter {
  public:
    explicit ProgressMeter(const std::function<void(const BuildProgress&)>& tell) : tell_{tell} {}

    void want(std::size_t bytes) noexcept { wanted_ += bytes; }
    void add(std::size_t bytes) noexcept { taken_.fetch_add(bytes, std::memory_order_relaxed); }
    void tell() const
    {
        if (tell_)
            tell_({.taken = taken_.load(std::memory_order_relaxed), .wanted = wanted_});
    }

  private:
    const std::function<void(const BuildProgress&)>& tell_;
    std::size_t wanted_ = 0;
    std::atomic<std::size_t> taken_ = 0;
};

//! Takes \p pages more pages into the files, one thread a file, from \p node if there is one. Those taken stay in the
//! files whatever happens.
//! Returns 0, or the errno of fallocate that stopped it short. Throws Error (permission, hugepages or internal) where
//! the node cannot be asked for or a thread not be started, and what \p meter throws.
int take_pages(PageFiles& files, std::size_t pages, std::optional<int> node, ProgressMeter& meter);

} // namespace mrz::hugepage
