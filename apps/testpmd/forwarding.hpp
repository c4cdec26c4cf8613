// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Forwarding on lcores: who forwards what, and how much came of it.
#pragma once

#include "options.hpp"
#include "port.hpp"

#include <atomic>
#include <chrono>
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
    std::vector<LcoreStreams> lcores; //!< Of these streams, which may be moved, but not copied.
};
//! Throws Error: invalid where no port is started, or there is no lcore to forward on.
Assignment assign(const ForwardOptions& options, std::span<const Port> ports, const KeySearch* keys);

//! Streams over lcores, from start() to stop(). Used by the main thread alone.
class Forwarding {
  public:
    Forwarding() = default;
    ~Forwarding();
    Forwarding(const Forwarding&) = delete;
    Forwarding& operator=(const Forwarding&) = delete;

    //! Throws Error: as assign(); busy where it runs.
    //! \param bursts_first are sent on each stream before, of the txonly engine's packets.
    void start(const ForwardOptions& options, std::span<const Port> ports, const KeySearch* keys,
               unsigned bursts_first = 0);
    //! Returns when no lcore forwards any more. Does nothing where it does not run.
    void stop();
    [[nodiscard]] bool running() const noexcept { return running_; }

    //! What forwards, or forwarded last; empty before the first start.
    [[nodiscard]] std::span<const Stream> streams() const noexcept { return assigned_.streams; }
    [[nodiscard]] const Engine* engine() const noexcept { return engine_; }
    //! How long it runs, or ran.
    [[nodiscard]] std::chrono::nanoseconds duration() const;

  private:
    void launch(ForwardLoop loop);

    const Engine* engine_ = nullptr;
    Assignment assigned_;
    std::atomic<bool> stop_ = false;
    bool running_ = false;
    std::chrono::steady_clock::time_point began_ = {};
    std::chrono::steady_clock::time_point ended_ = {};
};

} // namespace mrz::testpmd
