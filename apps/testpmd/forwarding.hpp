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

//! Streams over lcores, from start() to stop(). Used by the main thread alone.
class Forwarding {
  public:
    Forwarding() = default;
    ~Forwarding();
    Forwarding(const Forwarding&) = delete;
    Forwarding& operator=(const Forwarding&) = delete;

    //! Throws Error: invalid where no port is started, or there is no lcore to forward on; busy where it runs.
    //! \param domain where the keys of packets are looked up; null: nowhere. Each stream has a reader of its own
    //! there. \param bursts_first are sent on each stream before, of the txonly engine's packets.
    void start(const ForwardOptions& options, std::span<const Port> ports, const Domain* domain,
               unsigned bursts_first = 0);
    //! Returns when no lcore forwards any more. Does nothing where it does not run.
    void stop();
    [[nodiscard]] bool running() const noexcept { return running_; }

    //! What forwards, or forwarded last; empty before the first start.
    [[nodiscard]] std::span<const Stream> streams() const noexcept { return streams_; }
    [[nodiscard]] std::span<const LcoreStreams> lcores() const noexcept { return lcores_; }
    [[nodiscard]] const Engine* engine() const noexcept { return engine_; }
    //! How long it runs, or ran.
    [[nodiscard]] std::chrono::nanoseconds duration() const;

  private:
    void launch(ForwardLoop loop);

    const Engine* engine_ = nullptr;
    std::vector<Stream> streams_;
    std::vector<LcoreStreams> lcores_;
    std::atomic<bool> stop_ = false;
    bool running_ = false;
    std::chrono::steady_clock::time_point began_ = {};
    std::chrono::steady_clock::time_point ended_ = {};
};

} // namespace mrz::testpmd
