// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Completion queues as the guest sees them: rings in its memory.
#pragma once

#include "dma/pages.hpp"
#include "layouts/cqe.hpp"
#include "queues/event_queue.hpp"

#include <hca/completion_queue.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

namespace mrz::queues {

using Clock = std::chrono::steady_clock;
using Cqe = std::array<std::byte, layouts::cqe64::bytes>;

//! Where a ring of completions lies.
struct CompletionMemory {
    dma::PageList pages;    //!< Of log_size entries at least.
    unsigned log_size = 0;  //!< Entries; at most 22.
    unsigned log_entry = 6; //!< Bytes: 6 or 7. Of an entry of 128 the second half is used.
};

//! When an event comes: of \p count completions, or \p period after the first. 0 means that the term is not there.
struct Moderation {
    std::uint16_t count = 0;
    std::chrono::microseconds period{0};
};

struct CompletionRingOptions {
    CompletionMemory memory;
    DmaAddress record;              //!< Its doorbell record, of 8 bytes.
    std::uint32_t uar = 0;          //!< The page of user access that it is armed in.
    std::shared_ptr<EventQueue> eq; //!< That its events go to.
    bool kernels = false;           //!< Not of a user context.
    bool ignore_overrun = false;
    Moderation moderation;
};

//! Not thread-safe: guarded by DataPath.
class CompletionRing {
  public:
    CompletionRing(dma::Bus& bus, std::uint32_t number, CompletionRingOptions options);
    CompletionRing(const CompletionRing&) = delete;
    CompletionRing& operator=(const CompletionRing&) = delete;

    [[nodiscard]] std::uint32_t number() const noexcept { return number_; }
    [[nodiscard]] const CompletionRingOptions& options() const noexcept { return options_; }

    enum class Written : std::uint8_t { stored, overrun_now, lost };
    //! Adds an entry, whose owner bit it sets. overrun_now: the ring was full, or its memory is gone; from now on it
    //! takes no more.
    Written write(Cqe entry, bool solicited, Clock::time_point now);
    //! Asks for one event. It comes at once if there are entries that neither \p consumer_index (24 bits) counts nor
    //! an event told of: the last_notified_index of the context. \p sequence has two bits: asking again under that of
    //! an event that came does nothing, since the guest has not seen it yet.
    void arm(std::uint32_t consumer_index, std::uint8_t sequence, bool solicited);
    void set_moderation(const Moderation& moderation) noexcept { options_.moderation = moderation; }
    void set_ignore_overrun(bool ignore) noexcept { options_.ignore_overrun = ignore; }
    //! Goes on in other memory. The last entry in the old one is of opcode resize_cq; it counts, and so entries move
    //! up by one (mlx5_ib's copy_resize_cqes). False, and nothing is changed, if there is no room for it.
    [[nodiscard]] bool resize(CompletionMemory memory);

    //! When an event is due that moderation holds back.
    [[nodiscard]] std::optional<Clock::time_point> deadline() const noexcept { return due_; }
    //! Tells of completions whose time has come.
    void tick(Clock::time_point now);

    [[nodiscard]] std::uint32_t producer_index() const noexcept { return producer_ & index_mask; }
    //! As the guest's record says.
    std::uint32_t consumer_index();
    [[nodiscard]] bool in_error() const noexcept { return in_error_; }
    [[nodiscard]] hca::Notify armed() const noexcept { return armed_; }

  private:
    static constexpr std::uint32_t index_mask = (1U << 24) - 1;

    [[nodiscard]] std::uint32_t size() const noexcept { return 1U << options_.memory.log_size; }
    [[nodiscard]] bool is_full();
    [[nodiscard]] bool store(Cqe entry);
    void fire();

    dma::Bus& bus_;
    const std::uint32_t number_;
    CompletionRingOptions options_;
    std::uint32_t producer_ = 0; // counted beyond 24 bits
    std::uint32_t consumer_ = 0; // 24 bits, as it was seen last
    // Entries since the last event, and since the last solicited one, if there was any.
    std::uint64_t since_event_ = 0;
    std::optional<std::uint64_t> since_solicited_;
    bool in_error_ = false;

    hca::Notify armed_ = hca::Notify::none;
    std::uint8_t sequence_ = 0;         // under which it is armed
    std::optional<std::uint8_t> fired_; // of the last event
    std::uint32_t held_back_ = 0;       // completions that an event is to tell of
    std::optional<Clock::time_point> due_;
};

} // namespace mrz::queues
