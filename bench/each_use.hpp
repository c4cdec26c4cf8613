// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Timing what takes nanoseconds.
#pragma once

#include <benchmark/benchmark.h>

#include <atomic>
#include <cstddef>
#include <thread>

#include <time.h>

namespace bench {

//! Calls use(i) with i counting up. The figure is this thread's processor time for one: what else runs on the machine
//! counts only by the caches that it takes. Register with UseManualTime().
template <class Use>
void time_each(benchmark::State& state, Use use)
{
    constexpr std::size_t uses = 8192;
    const auto now = [] {
        timespec time{};
        ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
        return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
    };
    std::size_t at = 0;
    for ([[maybe_unused]] auto iteration : state) {
        const double begin = now();
        for (const std::size_t end = at + uses; at < end; ++at)
            use(at);
        state.SetIterationTime((now() - begin) / static_cast<double>(uses));
    }
}

//! Another thread that does the same all the time, for as long as this lives. It has begun when this is made.
//! It shares no cache line with what is beside it: that may be what the thread that is timed writes.
class alignas(128) AtWorkElsewhere {
  public:
    //! \p use is as time_each()'s. Neither does it read, each time, what lies on the stack.
    template <class Use>
    explicit AtWorkElsewhere(Use use)
        : thread_{[this, use] {
              std::size_t at = 1000;
              use(at);
              begun_ = true;
              while (!stop_.load(std::memory_order_relaxed))
                  use(++at);
          }}
    {
        while (!begun_)
            std::this_thread::yield();
    }
    AtWorkElsewhere(const AtWorkElsewhere&) = delete;
    AtWorkElsewhere& operator=(const AtWorkElsewhere&) = delete;
    ~AtWorkElsewhere() { stop_ = true; }

  private:
    std::atomic<bool> stop_ = false;
    std::atomic<bool> begun_ = false;
    std::jthread thread_;
};

//! For Apply(): a fixed count, since the time that an iteration is said to take is not the one that it takes.
inline void many_uses(benchmark::internal::Benchmark* subject)
{
    subject->UseManualTime()->Unit(benchmark::kNanosecond)->Iterations(200);
}

} // namespace bench
