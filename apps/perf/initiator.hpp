// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! The operations that one end begins on a line.
#pragma once

#include "line.hpp"
#include "pattern.hpp"

#include "common/tiers.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace mrz::perf {

//! Begins operations, and takes their completions. Used by one thread.
class Initiator {
  public:
    Initiator(Line& line, const LineUse& use, std::unique_ptr<app::Tier> tier);

    [[nodiscard]] std::uint64_t begun() const noexcept { return begun_; }
    [[nodiscard]] std::uint64_t completed() const noexcept { return completed_; }
    //! How many may be begun now, in one go.
    [[nodiscard]] std::size_t room() const noexcept;
    //! Whether it does better with several at once.
    [[nodiscard]] bool takes_many() const noexcept { return tier_->takes_many(); }
    [[nodiscard]] std::size_t depth() const noexcept { return uses_.size(); }

    //! Lets what keeps registrations make them, as it has in the long run: of the places that are used most, as many
    //! as \p bytes hold. Before the first operation. Throws Error.
    void warm_up(std::size_t bytes);
    //! Begins the next \p count, at most room(). Each has a completion of its own if \p signaled; else one in
    //! Settings::signal_every. Throws Error.
    void begin(std::size_t count, bool signaled = false);
    //! Begins the next one, whose last byte is \p count, with the other end's first slot.
    void begin_counted(std::byte count);
    //! Whether operations are under way whose end nothing will tell.
    [[nodiscard]] bool needs_signal() const noexcept { return begun_ != signaled_; }
    //! \p one is of an operation that was begun here. Throws Error: peer, or data.
    void complete(const Completion& one);
    //! After a burst.
    void quiescent() noexcept { tier_->quiescent(); }

  private:
    void acquire(std::size_t count);
    void post(std::uint64_t number, bool signaled, std::size_t remote_offset);
    void check(std::uint64_t number);

    Line& line_;
    const LineUse use_;
    const Slots slots_;
    const Pattern brought_;
    const Pattern before_;
    std::unique_ptr<app::Tier> tier_;
    std::vector<app::Use> uses_; // by number, modulo depth
    std::uint64_t begun_ = 0;
    std::uint64_t signaled_ = 0; //!< Up to here completions will tell.
    std::uint64_t completed_ = 0;
};

//! The Error that stands for a completion that is no success. Trouble::peer.
Error failure_of(const Completion& one);

} // namespace mrz::perf
