// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Completions that come late, or not at all, because somebody wants to see what programs make of it.
#pragma once

#include "queues/completion_ring.hpp"

#include <cstdint>
#include <deque>
#include <optional>

namespace mrz::queues {

//! What happens to completions.
struct CompletionFault {
    Clock::duration delay{0};              //!< Each comes so much later.
    std::uint64_t lose = 0;                //!< So many do not come, which are the next.
    std::optional<std::uint32_t> cqn = {}; //!< Of this queue; else of every one that is not the kernel's.
};

//! Guarded by DataPath.
class CompletionFaults {
  public:
    //! A completion on its way.
    struct Late {
        std::uint32_t cqn;
        std::uint32_t qpn;
        Cqe entry;
        bool solicited;
    };

    //! From now on. All that waits is due.
    void set(const CompletionFault& fault);
    //! Whether completions of the queue are to be taken. \p kernels: it is one of the kernel's.
    [[nodiscard]] bool concern(std::uint32_t cqn, bool kernels) const noexcept
    {
        return (fault_.lose != 0 || fault_.delay != Clock::duration::zero()) &&
               (fault_.cqn ? *fault_.cqn == cqn : !kernels);
    }
    //! Loses it, or lets it wait here.
    void take(const Late& completion, Clock::time_point now);
    //! The next whose time has come, in the order in which they happened.
    [[nodiscard]] std::optional<Late> next(Clock::time_point now);
    [[nodiscard]] std::optional<Clock::time_point> deadline() const;
    void forget_cq(std::uint32_t cqn);
    void forget_qp(std::uint32_t qpn);

    [[nodiscard]] std::uint64_t lost() const noexcept { return lost_; }
    [[nodiscard]] std::size_t waiting() const noexcept { return waiting_.size(); }

  private:
    struct Waiting {
        Clock::time_point due;
        Late completion;
    };

    CompletionFault fault_;
    std::deque<Waiting> waiting_; // in order of time, since all wait as long
    std::uint64_t lost_ = 0;
};

} // namespace mrz::queues
