// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! The thread that works for connections while their owners do something else: it stands for the adapter's hardware.
#pragma once

#include <hca/hca.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>

#include <sys/types.h>

namespace mrz::soft {

//! Looks after links. Its thread, "mrz-soft", lives as long as there are any, and sleeps while they are idle or while
//! a thread that polls looks after them. Thread-safe; in a child of fork() it does nothing.
class Keeper {
  public:
    explicit Keeper(hca::Hca& engine);
    Keeper(const Keeper&) = delete;
    Keeper& operator=(const Keeper&) = delete;
    ~Keeper(); //!< After its links.

    //! \p join is called with the link before anybody works for it. Throws Error if there are no descriptors or
    //! threads to be had, and what \p join throws.
    [[nodiscard]] std::shared_ptr<hca::Link> add(std::unique_ptr<hca::Wire> wire,
                                                 const std::function<void(const std::shared_ptr<hca::Link>&)>& join);
    //! When it returns the thread has nothing to do with it any more.
    void remove(const std::shared_ptr<hca::Link>& link) noexcept;

  private:
    using Clock = std::chrono::steady_clock;
    //! How a link calls the thread, from anywhere.
    struct Call {
        std::shared_ptr<FileDescriptor> bell;
        std::atomic<bool> rung = true; // to be looked at as soon as it is there
    };
    struct Kept {
        std::shared_ptr<hca::Link> link;
        std::shared_ptr<Call> call;
        bool awake = false;
        bool watched = false;     // its descriptors are
        Clock::time_point worked; // when there was last something to do,
        Clock::time_point polled; // and when it was last seen to be polled,
        std::uint64_t polls = 0;  // so often
    };
    struct Thread;

    void start();
    void stop(std::unique_ptr<Thread> thread) noexcept;
    void work(Thread& thread);
    void hear(std::uint64_t event);
    void look_after(Kept& kept, Thread& thread);
    [[nodiscard]] int rest() const;

    hca::Hca& engine_;
    const pid_t process_;
    std::mutex life_;              // held while the thread is started or stopped; taken before the other
    std::mutex mutex_;             // guards the links; held by the thread while it works
    std::atomic<int> waiting_ = 0; // for the mutex, to which the thread would otherwise always come first
    std::map<std::uint64_t, Kept> kept_;
    std::uint64_t next_ = 1;
    bool worked_ = false; // for any link, this time round
    std::unique_ptr<Thread> thread_;
};

} // namespace mrz::soft
