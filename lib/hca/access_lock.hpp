// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! The lock between traffic and commands.
#pragma once

#include <pthread.h>

namespace mrz::hca {

//! A reader-writer lock under which a waiting writer keeps new readers out, so that traffic cannot starve commands.
//! Hence a thread that holds it must not take it again. Fits std::unique_lock and std::shared_lock.
class AccessLock {
  public:
    AccessLock();
    ~AccessLock();
    AccessLock(const AccessLock&) = delete;
    AccessLock& operator=(const AccessLock&) = delete;

    void lock() { pthread_rwlock_wrlock(&lock_); }
    void unlock() { pthread_rwlock_unlock(&lock_); }
    void lock_shared() { pthread_rwlock_rdlock(&lock_); }
    void unlock_shared() { pthread_rwlock_unlock(&lock_); }

  private:
    pthread_rwlock_t lock_;
};

} // namespace mrz::hca
