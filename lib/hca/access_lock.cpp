// SPDX-License-Identifier: BSD-3-Clause
#include "access_lock.hpp"

#include <mrzone/base.hpp>

#include <thread>

namespace mrz::hca {

AccessLock::AccessLock() : tries_{std::thread::hardware_concurrency() > 1 ? 1000u : 0u}
{
    pthread_rwlockattr_t attributes;
    pthread_rwlockattr_init(&attributes);
    // std::shared_mutex is this lock with the kind that prefers readers.
    pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    const int error = pthread_rwlock_init(&lock_, &attributes);
    pthread_rwlockattr_destroy(&attributes);
    if (error != 0)
        throw Error{error, {Trouble::internal, "make a lock", "pthread_rwlock_init failed", {}, {}, {}}};
}

AccessLock::~AccessLock()
{
    pthread_rwlock_destroy(&lock_);
}

} // namespace mrz::hca
