// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Shared receive queues.
#pragma once

#include <hca/mkey.hpp>
#include <hca/queue.hpp>

#include <atomic>
#include <cstdint>
#include <memory>

namespace mrz::hca {

struct SrqOptions {
    Pd pd = {}; //!< The domain that the local keys of its receives must belong to.
    std::uint32_t max_work_requests = 64;
    std::uint32_t max_sges = 4;
    std::uint32_t limit = 0;                    //!< As arm_limit().
    std::shared_ptr<ReceiveSource> source = {}; //!< Where its receives come from, if they are not posted.
};

//! Receives that several queue pairs take from. Thread-safe; posting goes through the engine.
class SharedReceiveQueue {
  public:
    SharedReceiveQueue(std::uint32_t number, const SrqOptions& options)
        : number_{number}, pd_{options.pd}, queue_{{options.max_work_requests, options.max_sges, 0}, options.source}
    {
        queue_.arm_limit(options.limit);
    }

    [[nodiscard]] std::uint32_t number() const noexcept { return number_; }
    [[nodiscard]] Pd pd() const noexcept { return pd_; }
    [[nodiscard]] std::uint32_t size() const { return queue_.size(); }
    //! Asks for one srq_limit_reached event, when fewer than \p limit receives are left; 0 for none.
    void arm_limit(std::uint32_t limit) { queue_.arm_limit(limit); }
    [[nodiscard]] std::uint32_t limit() const { return queue_.limit(); }

    //! For the engine.
    [[nodiscard]] ReceiveQueue& queue() noexcept { return queue_; }
    //! For the engine: a queue pair that is connected over a link found no receive.
    [[nodiscard]] std::atomic<bool>& starved() noexcept { return starved_; }

  private:
    const std::uint32_t number_;
    const Pd pd_;
    ReceiveQueue queue_;
    std::atomic<bool> starved_ = false;
};

} // namespace mrz::hca
