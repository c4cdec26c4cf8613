// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! The lock between traffic and commands.
#pragma once

#include <atomic>

#include <pthread.h>

namespace mrz::hca {

//! A reader-writer lock under which a waiting writer keeps new readers out, so that traffic cannot starve commands.
//! Hence a thread that holds it must not take it again. It is held for a fraction of what it costs to sleep and to be
//! woken, so who finds it taken looks again for a while first. Fits std::unique_lock and std::shared_lock.
class AccessLock {
  public:
    AccessLock();
    ~AccessLock();
    AccessLock(const AccessLock&) = delete;
    AccessLock& operator=(const AccessLock&) = delete;

    void lock()
    {
        waiting_.fetch_add(1, std::memory_order_relaxed);
        if (!soon([this] { return pthread_rwlock_trywrlock(&lock_) == 0; }))
            pthread_rwlock_wrlock(&lock_);
        waiting_.fetch_sub(1, std::memory_order_relaxed);
    }
    void unlock() { pthread_rwlock_unlock(&lock_); }
    void lock_shared()
    {
        const auto attempt = [this] {
            return waiting_.load(std::memory_order_relaxed) == 0 && pthread_rwlock_tryrdlock(&lock_) == 0;
        };
        if (!soon(attempt))
            pthread_rwlock_rdlock(&lock_);
    }
    void unlock_shared() { pthread_rwlock_unlock(&lock_); }

  private:
    //! Whether \p attempt came true within some ten microseconds; it is made once at least.
    template <class Attempt>
    bool soon(Attempt attempt) const
    {
        for (unsigned tries = 0; !attempt(); ++tries) {
            if (tries >= tries_)
                return false;
            relax();
        }
        return true;
    }
    //! Leaves the processor to the other thread of its core, and the lock's line to who holds it.
    static void relax() noexcept
    {
#if defined(__x86_64__)
        __builtin_ia32_pause();
#elif defined(__aarch64__)
        asm volatile("yield");
#endif
    }

    std::atomic<unsigned> waiting_ = 0; //!< Writers, who stand before readers while they look, too.
    const unsigned tries_;              //!< None where there is one processor only, which who holds it needs.
    pthread_rwlock_t lock_;
};

} // namespace mrz::hca
