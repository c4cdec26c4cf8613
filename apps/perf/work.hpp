// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! The threads of one measurement at one end.
#pragma once

#include "line.hpp"
#include "outcome.hpp"
#include "task.hpp"

#include <mrzone/region.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <latch>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <vector>

namespace mrz::perf {

class Work {
  public:
    struct Options {
        bool lasting = false; //!< The lines' memory is an arena's.
        std::chrono::milliseconds silence{};
    };

    //! Registers what the measurement needs, for \p lines, which live longer. Throws Error.
    Work(const Domain& domain, std::span<Line> lines, const LineUse& use, const Options& options);
    //! Leaves at once.
    ~Work();
    Work(const Work&) = delete;
    Work& operator=(const Work&) = delete;

    void start();
    //! For all that began: to end soon.
    void stop() noexcept { shared_.stopping = true; }
    //! Whether all that this end begins has completed, or a thread has failed.
    [[nodiscard]] bool begun_all() const noexcept { return failed_ || begun_ == tasks_.size(); }
    //! What the other end has begun on each line.
    void expect(std::span<const std::uint64_t> operations) noexcept;
    //! Whether all has come, too, or a thread has failed.
    [[nodiscard]] bool ended() const noexcept { return failed_ || ended_ == tasks_.size(); }
    //! What a thread failed with.
    void rethrow() const;
    //! Once begun_all().
    [[nodiscard]] Outcome outcome() const;

  private:
    using Clock = std::chrono::steady_clock;

    void run(Task& task) noexcept;
    std::unique_ptr<Initiator> make_initiator(Line& line);

    const Domain domain_;
    const std::span<Line> lines_;
    const LineUse use_;
    const Options options_;
    Shared shared_;
    std::vector<std::unique_ptr<Task>> tasks_;
    std::optional<std::latch> ready_;
    std::vector<std::thread> threads_;
    std::atomic<std::size_t> begun_ = 0;
    std::atomic<std::size_t> ended_ = 0;
    std::atomic<bool> failed_ = false;
    mutable std::mutex mutex_; // guards what follows
    std::exception_ptr failure_;
    std::optional<Clock::time_point> first_;
    Clock::time_point last_{};
    double processor_begin_ = 0;
    double processor_end_ = 0;
};

} // namespace mrz::perf
