// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Receives in the guest's memory: a queue pair's own, and shared ones.
#pragma once

#include "queues/work_ring.hpp"

#include <hca/queue.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

namespace mrz::queues {

//! The pieces of memory of a receive: up to the one that ends the list.
void read_scatter_list(std::span<const std::byte> segments, std::vector<hca::Sge>& sges);

//! A queue pair's own receive queue. The identity of a receive is its counter (16 bits), which is what a completion
//! tells of it.
class ReceiveRing final : public hca::ReceiveSource {
  public:
    //! \p entry_bytes of the ring is at most 2048.
    ReceiveRing(dma::Bus& bus, WorkRing ring) : bus_{bus}, ring_{std::move(ring)} {}

    [[nodiscard]] hca::Popped take(hca::ReceiveWork& work) override;
    void reset() noexcept override;

    //! Whether the guest's counter says that there is something to take.
    [[nodiscard]] bool has_more();
    //! Whether take() found nothing since this was asked last.
    [[nodiscard]] bool was_starved() noexcept { return starved_.exchange(false); }
    [[nodiscard]] std::uint16_t taken() const;

  private:
    [[nodiscard]] std::uint32_t left();

    dma::Bus& bus_;
    const WorkRing ring_;
    mutable std::mutex mutex_;
    std::uint16_t taken_ = 0;
    std::uint16_t produced_ = 0; // as it was seen last
    std::atomic<bool> starved_ = false;
};

//! A shared receive queue: a list through the entries of a ring, which each say which one is next. The identity of a
//! receive is the index of its entry.
class SharedReceiveRing final : public hca::ReceiveSource {
  public:
    SharedReceiveRing(dma::Bus& bus, WorkRing ring) : bus_{bus}, ring_{std::move(ring)} {}

    [[nodiscard]] hca::Popped take(hca::ReceiveWork& work) override;
    //! Nothing: it has no state that belongs to one queue pair.
    void reset() noexcept override {}

    //! Asks to be told when fewer than \p limit are left; 0 for never. True: so it is now, and nothing is armed.
    [[nodiscard]] bool arm_limit(std::uint16_t limit);
    [[nodiscard]] std::uint16_t limit() const;
    [[nodiscard]] bool has_more();
    [[nodiscard]] bool was_starved() noexcept { return starved_.exchange(false); }
    [[nodiscard]] std::uint16_t taken() const;
    [[nodiscard]] std::uint32_t left();

  private:
    [[nodiscard]] std::uint32_t refreshed_left();

    dma::Bus& bus_;
    const WorkRing ring_;
    mutable std::mutex mutex_;
    std::uint32_t next_ = 0; // the index of the entry that is taken next
    std::uint16_t taken_ = 0;
    std::uint16_t limit_ = 0;
    std::atomic<bool> starved_ = false;
};

} // namespace mrz::queues
