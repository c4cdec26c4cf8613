// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Store, then look: of two threads that each store a word and then read the other's, one must see the other's store.
//! A hit does so for each lease, and seldom is there another thread that looks; so the fence is put on the one who
//! looks seldom (membarrier(2)). Private to this floor.
#pragma once

#include <mrzone/base.hpp>

#include <atomic>

namespace mrz::cache {

//! Prepares this process. Call before the first publish(). Throws Error where membarrier worked before and is refused
//! now.
void prepare_barrier();

//! Whether publish() needs no fence; the same for as long as the process lives.
extern bool one_sided MRZ_HIDDEN;

//! Stores \p value so that what this thread loads (in the single order) afterwards is not older than the store. The
//! other side stores its word, calls everybody_published(), and loads \p where, all in the single order.
template <class T>
inline void publish(std::atomic<T>& where, T value) noexcept
{
    if (one_sided) {
        where.store(value, std::memory_order_release);
        std::atomic_signal_fence(std::memory_order_seq_cst); // the compiler's order; the processor's is on the others
    } else {
        where.store(value, std::memory_order_seq_cst);
    }
}

//! Makes what every thread published before visible to this one. False if the kernel refuses, which is said once:
//! then nothing is known.
[[nodiscard]] bool everybody_published() noexcept;

} // namespace mrz::cache
