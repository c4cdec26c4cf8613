// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Forwarding on lcores: who forwards what, and how much came of it.
#pragma once

#include "options.hpp"
#include "port.hpp"

#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

namespace mrz::testpmd {

//! The streams of one lcore, which lie side by side.
struct LcoreStreams {
    unsigned lcore = 0;
    std::span<Stream> streams;
    ForwardLoop loop = nullptr;
    const std::atomic<bool>* stop = nullptr;
};

//! Who forwards what.
struct Assignment {
    std::vector<Stream> streams;
    std::vector<LcoreStreams> lcores; //!< Of these streams: they may be moved, but not copied.

    Assignment() = default;
    Assignment(Assignment&&) = default;
    Assignment& operator=(Assignment&&) = default;
    Assignment(const Assignment&) = delete;
    Assignment& operator=(const Assignment&) = delete;
    ~Assignment() = default;
};
//! Which port goes where depends on all \p ports; one that is closed, or gone, neither receives nor is sent to.
//! Throws Error: invalid where a port is stopped, nothing is left to forward, or there is no lcore to forward on.
Assignment assign(const ForwardOptions& options, std::span<const Port> ports, const Domain* domain);

//! Streams over lcores, from start() to stop(). Used by the main thread alone.
class Forwarding {
  public:
    Forwarding() = default;
    ~Forwarding();
    Forwarding(const Forwarding&) = delete;
    Forwarding& operator=(const Forwarding&) = delete;

    //! Throws Error: as assign(); busy where it runs.
    //! \param domain where the keys of packets are looked up; null: nowhere. Each stream has a reader of its own
    //! there. \param bursts_first are sent from each port before, of the txonly engine's packets; a signal ends that.
    void start(const ForwardOptions& options, std::span<const Port> ports, const Domain* domain,
               unsigned bursts_first = 0);
    //! Returns when no lcore forwards any more. Does nothing where it does not run.
    void stop();
    [[nodiscard]] bool running() const noexcept { return running_; }

    //! What forwards, or forwarded last; empty before the first start.
    [[nodiscard]] std::span<const Stream> streams() const noexcept { return assigned_.streams; }
    [[nodiscard]] const Engine* engine() const noexcept { return engine_; }

  private:
    void launch(Assignment& assigned, ForwardLoop loop);
    void send_first(Assignment& first, unsigned bursts);

    const Engine* engine_ = nullptr;
    Assignment assigned_;
    std::atomic<bool> stop_ = false;
    bool running_ = false;
};

} // namespace mrz::testpmd
