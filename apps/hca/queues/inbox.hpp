// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! What others leave for the data thread to do.
#pragma once

#include <mrzone/file_descriptor.hpp>

#include <hca/status.hpp>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <vector>

namespace mrz::queues {

//! A request for one event of a completion queue.
struct ArmRequest {
    std::uint32_t consumer_index = 0;
    std::uint8_t sequence = 0;
    bool solicited = false;
};

//! A queue, and the page of user access that its doorbell was rung in: only one of them is the queue's own, and
//! others must not push it out.
struct Rung {
    std::uint32_t number = 0;
    std::uint32_t uar = 0;
    friend auto operator<=>(const Rung&, const Rung&) = default;
};

//! What there is to do. A queue is in it once, however often its doorbell was rung.
struct Chores {
    std::set<Rung> sends;                 //!< Queue pairs.
    std::map<Rung, ArmRequest> arms;      //!< By completion queue: the last one.
    std::vector<std::uint32_t> completed; //!< Completion queues of the engine that have something.
    std::vector<hca::Event> events;
    bool everything = false; //!< Doorbells were left out: look at all queues.

    [[nodiscard]] bool empty() const noexcept
    {
        return sends.empty() && arms.empty() && completed.empty() && events.empty() && !everything;
    }
};

//! Thread-safe; its lock is the innermost of all, so that anybody can leave something at any time.
class Inbox {
  public:
    //! Throws Error as eventfd(2) fails.
    Inbox();

    void send(Rung queue_pair);
    void arm(Rung completion_queue, const ArmRequest& request);
    void completed(std::uint32_t cqn);
    void happened(const hca::Event& event);
    //! Something has changed that a sleeper has to look at.
    void wake();

    //! Takes all that there is.
    [[nodiscard]] Chores take();
    [[nodiscard]] bool has_something() const;
    //! From now on the descriptor becomes readable when something is left. False if there is something now.
    [[nodiscard]] bool prepare_to_sleep();
    [[nodiscard]] int descriptor() const noexcept { return descriptor_.get(); }
    //! The end of the sleep: the descriptor is not readable any more, and stays so.
    void awake() noexcept;

  private:
    //! A guest may ring for queues that do not exist.
    static constexpr std::size_t most = 1U << 14;

    void signal() noexcept;

    FileDescriptor descriptor_;
    mutable std::mutex mutex_;
    Chores chores_;
    bool poked_ = false;
    bool asleep_ = false;
};

} // namespace mrz::queues
