// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! The thread that works for all queues of a device.
#pragma once

#include "queues/data_path.hpp"
#include "queues/links.hpp"

#include <atomic>
#include <thread>
#include <vector>

namespace mrz::queues {

//! Runs DataPath::turn() as long as there is something to do, and sleeps otherwise.
class DataThread {
  public:
    //! Starts it. \p links outlives it, if there are any.
    explicit DataThread(DataPath& path, Links* links = nullptr);
    //! Ends it, after the turn that it is in.
    ~DataThread();
    DataThread(const DataThread&) = delete;
    DataThread& operator=(const DataThread&) = delete;

  private:
    void run();
    void sleep();

    DataPath& path_;
    Links* const links_;
    std::vector<pollfd> descriptors_; // room that is used again
    std::atomic<bool> stop_ = false;
    std::thread thread_;
};

} // namespace mrz::queues
