// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! A lock that comes to everybody who waits for it.
#pragma once

#include <mutex>

namespace mrz::queues {

//! A mutex is had by who is awake when it is given back: a thread that takes it again at once would keep out all
//! others for as long as it likes. Here it first stands behind whoever waits.
class FairMutex {
  public:
    void lock()
    {
        const std::lock_guard next{next_};
        mutex_.lock();
    }
    void unlock() { mutex_.unlock(); }

  private:
    std::mutex next_; //!< Of who has the mutex next.
    std::mutex mutex_;
};

} // namespace mrz::queues
