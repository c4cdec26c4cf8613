// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! What a thread does in one measurement.
#pragma once

#include "initiator.hpp"
#include "latencies.hpp"
#include "rate.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <vector>

namespace mrz::perf {

//! What the threads of one measurement share with who started them.
struct Shared {
    std::atomic<bool> stopping = false;  //!< Begin nothing more.
    std::atomic<bool> abandoned = false; //!< Leave at once.
    std::chrono::milliseconds silence{}; //!< An operation that takes longer has failed.
    RateWindows rate = {};
};

//! A thread's work.
class Task {
  public:
    Task() = default;
    Task(const Task&) = delete;
    Task& operator=(const Task&) = delete;
    virtual ~Task() = default;

    //! Until all that is to be begun has completed; or until abandoned. Throws Error.
    virtual void begin_all() = 0;
    //! What is left then: until the other end's have come.
    virtual void receive_rest() {}
    //! How many the other end begins on \p line, once that is known. From another thread.
    virtual void expect(unsigned line, std::uint64_t operations) noexcept = 0;
    //! Operations that were begun on each of its lines, in their order.
    [[nodiscard]] virtual std::vector<std::uint64_t> operations() const = 0;
    [[nodiscard]] virtual const Latencies* latencies() const noexcept { return nullptr; }
};

//! Waits for something to happen, and looks whether it still can.
class Idle {
  public:
    explicit Idle(const Shared& shared) noexcept : shared_{shared} {}

    //! Something has happened.
    void reset() noexcept { times_ = 0; }
    //! Nothing has; \p under_way: but should, before long. Throws Error (peer).
    void wait(const std::vector<Line*>& lines, bool under_way);

  private:
    using Clock = std::chrono::steady_clock;

    const Shared& shared_;
    unsigned times_ = 0;
    Clock::time_point since_{};
};

//! One line of a bandwidth measurement: at either end, in either direction, or both.
class Stream {
  public:
    //! \p initiator: null if this end begins none.
    Stream(Line& line, const LineUse& use, std::unique_ptr<Initiator> initiator, Shared& shared);

    //! Begins what may be begun, and takes what has completed. \return whether there was anything.
    bool advance();
    //! Whether all that this end begins has completed.
    [[nodiscard]] bool begun_all() const noexcept;
    //! Whether all has come, too, that the other end has begun.
    [[nodiscard]] bool ended() const noexcept;
    [[nodiscard]] bool under_way() const noexcept;
    void expect(std::uint64_t operations) noexcept;
    [[nodiscard]] Line& line() const noexcept { return line_; }
    [[nodiscard]] std::uint64_t begun() const noexcept { return initiator_ ? initiator_->begun() : 0; }

  private:
    static constexpr std::uint64_t unknown = std::numeric_limits<std::uint64_t>::max();

    [[nodiscard]] bool may_begin() const noexcept;
    bool begin();

    Line& line_;
    const LineUse use_;
    const Slots slots_;
    const Pattern sent_; //!< By the other end.
    std::unique_ptr<Initiator> initiator_;
    Shared& shared_;
    std::uint64_t received_before_ = 0;
    std::atomic<std::uint64_t> expected_ = unknown; //!< Of the other end's.
};

//! Bandwidth.
class StreamsTask final : public Task {
  public:
    StreamsTask(std::vector<std::unique_ptr<Stream>> streams, Shared& shared);

    void begin_all() override;
    void receive_rest() override;
    void expect(unsigned line, std::uint64_t operations) noexcept override;
    [[nodiscard]] std::vector<std::uint64_t> operations() const override;

  private:
    void run(bool (Stream::*done)() const noexcept);

    std::vector<std::unique_ptr<Stream>> streams_;
    std::vector<Line*> lines_;
    Shared& shared_;
};

//! Latency of operations that need nobody at the other end.
std::unique_ptr<Task> make_one_sided(Line& line, const LineUse& use, std::unique_ptr<Initiator> initiator,
                                     Shared& shared);
//! Latency of writes or sends that are answered by the like: half of the time there and back.
std::unique_ptr<Task> make_ping_pong(Line& line, const LineUse& use, std::unique_ptr<Initiator> initiator,
                                     Shared& shared);

} // namespace mrz::perf
