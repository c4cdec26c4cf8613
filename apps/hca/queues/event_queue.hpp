// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Event queues: rings in the guest's memory that tell it what happened, and interrupt it.
#pragma once

#include "dma/pages.hpp"
#include "layouts/eqe.hpp"
#include "vfio_user/interrupts.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <span>

namespace mrz::queues {

//! Which types of events a queue is for: bit t of them all is type t, as in CREATE_EQ's event_bitmask.
using EventMask = std::array<std::uint64_t, 4>;

struct EventQueueOptions {
    std::uint32_t number = 0; //!< 0 to 255: a doorbell has 8 bits for it.
    unsigned vector = 0;      //!< Of MSI-X.
    std::uint32_t uar = 0;    //!< The page of user access that its doorbells are in.
    unsigned log_size = 0;    //!< Entries.
    dma::PageList pages;      //!< Of log_size entries at least.
    EventMask events = {};
};

//! Thread-safe.
class EventQueue {
  public:
    EventQueue(dma::Bus& bus, vfio_user::Interrupts& interrupts, EventQueueOptions options);
    EventQueue(const EventQueue&) = delete;
    EventQueue& operator=(const EventQueue&) = delete;

    [[nodiscard]] const EventQueueOptions& options() const noexcept { return options_; }
    [[nodiscard]] std::uint32_t number() const noexcept { return options_.number; }
    [[nodiscard]] bool wants(layouts::EventType type) const noexcept;

    //! Adds an event. \p data is at most 28 bytes. Lost, and noted, if the ring is full or its memory is gone.
    void post(layouts::EventType type, std::uint8_t sub_type, std::span<const std::byte> data) noexcept;
    //! The guest has taken all before \p consumer_index (24 bits). If it arms, the next event interrupts, or one that
    //! is there already.
    void consumed(std::uint32_t consumer_index, bool arm) noexcept;

    struct State {
        std::uint32_t producer_index; //!< 24 bits, as the next.
        std::uint32_t consumer_index;
        std::uint64_t lost;
        bool armed;
    };
    [[nodiscard]] State state() const;

  private:
    static constexpr std::uint32_t index_mask = (1U << 24) - 1;

    dma::Bus& bus_;
    vfio_user::Interrupts& interrupts_;
    const EventQueueOptions options_;
    mutable std::mutex mutex_;
    std::uint32_t producer_ = 0; // both counted beyond 24 bits
    std::uint32_t consumer_ = 0;
    std::uint64_t lost_ = 0;
    bool armed_ = false;
};

//! All event queues of a device. Thread-safe.
class EventQueues {
  public:
    void add(std::shared_ptr<EventQueue> queue);
    void remove(std::uint32_t number);
    [[nodiscard]] std::shared_ptr<EventQueue> find(std::uint32_t number) const;
    //! Whether there is a queue that is for such events.
    [[nodiscard]] bool wants(layouts::EventType type) const;
    //! Adds an event to each queue that is for it. To be used for all but completions.
    void post(layouts::EventType type, std::uint8_t sub_type, std::span<const std::byte> data) const;

  private:
    mutable std::shared_mutex mutex_;
    std::map<std::uint32_t, std::shared_ptr<EventQueue>> queues_;
};

} // namespace mrz::queues
