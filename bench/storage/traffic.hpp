// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Operations under way between memory and store.
#pragma once

#include "workload.hpp"

#include <common/tiers.hpp>

#include <mrzone/region.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace bench::storage {

using mrz::app::Tier;
using mrz::app::Use;

//! Two ends of a connection: one reads and writes the store, by the other's key to it, for the memory of its own.
//! Used by one thread.
class Traffic {
  public:
    //! \p store grants remote reading and writing, and is as long as \p memory.
    Traffic(const mrz::Domain& domain, std::span<std::byte> memory, const mrz::Region& store, std::size_t block_size,
            std::size_t depth);

    //! Starts all of \p operations, in their order, with as many under way as may be, and leaves the last ones so.
    //! The nanoseconds that each which completes meanwhile took, from before it had a key until its completion was
    //! polled, go to \p latencies if there is one. Throws mrz::Error; std::runtime_error for one that failed;
    //! mrz::app::Interrupted.
    void run(Tier& tier, std::span<const Operation> operations, std::vector<std::uint32_t>* latencies = nullptr);
    //! Waits for those that are under way.
    void drain(Tier& tier);

  private:
    using Clock = std::chrono::steady_clock;

    void start(Tier& tier, std::span<const Operation> operations);
    //! At least one.
    void complete(Tier& tier, std::vector<std::uint32_t>* latencies);

    std::span<std::byte> memory_;
    mrz::Iova store_;
    mrz::RKey store_key_;
    std::size_t block_size_;
    std::size_t depth_;
    std::unique_ptr<mrz::QueuePair> near_;
    std::unique_ptr<mrz::QueuePair> far_;
    // By number: of the operations ever started, modulo depth.
    std::vector<Use> uses_;
    std::vector<Clock::time_point> begun_;
    std::size_t started_ = 0;
    std::size_t completed_ = 0;
};

} // namespace bench::storage
