// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! How results leave an operation: completions at once, all else when its locks are released.
#pragma once

#include <hca/hca.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace mrz::hca {

//! What remains to be done when an operation has released its locks; see Traffic::finish.
struct Aftermath {
    std::vector<std::uint32_t> failed;                    //!< Queue pairs that went to ERR: to be flushed.
    std::vector<std::uint32_t> wake;                      //!< Queue pairs whose work may go on.
    bool wake_waiting = false;                            //!< The same for all on the waiting list.
    std::vector<std::shared_ptr<Link>> links;             //!< Links that have work to do.
    std::vector<Event> events;                            //!< To be reported.
    std::vector<std::shared_ptr<CompletionQueue>> notify; //!< Armed queues that got what they waited for.
};

struct LiveCounters {
    std::array<std::atomic<std::uint64_t>, 7> operations{};
    std::array<std::atomic<std::uint64_t>, 22> failures{};
    std::atomic<std::uint64_t> bytes = 0;
    std::atomic<std::uint64_t> receiver_not_ready = 0;
    std::atomic<std::uint64_t> datagrams_dropped = 0;
};
inline void count(std::atomic<std::uint64_t>& counter, std::uint64_t by = 1) noexcept
{
    counter.fetch_add(by, std::memory_order_relaxed);
}

//! Thread-safe.
class Delivery {
  public:
    explicit Delivery(LiveCounters& counters) noexcept : counters_{counters} {}

    //! A completion of \p qp's own send work that was popped last. The send lock is held.
    void complete_send(QueuePair& qp, const Completion& completion, Aftermath& after) const;
    //! A completion of a receive. The inbound lock is held.
    void complete_receive(QueuePair& qp, const Completion& completion, bool solicited, Aftermath& after) const;
    //! Moves \p qp to ERR, to be flushed, and reports \p event, unless it is there already.
    static void fail(QueuePair& qp, std::optional<EventType> event, Aftermath& after);

  private:
    void push(QueuePair& qp, const std::shared_ptr<CompletionQueue>& cq, const Completion& completion, bool solicited,
              SendQueue* queue, std::uint32_t slots, Aftermath& after) const;

    LiveCounters& counters_;
};

} // namespace mrz::hca
