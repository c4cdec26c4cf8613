// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! The thread that works for all queues of a device.
#pragma once

#include "queues/data_path.hpp"

#include <atomic>
#include <thread>

namespace mrz::queues {

//! Runs DataPath::turn() as long as there is something to do, and sleeps otherwise.
class DataThread {
  public:
    //! Starts it.
    explicit DataThread(DataPath& path);
    //! Ends it, after the turn that it is in.
    ~DataThread();
    DataThread(const DataThread&) = delete;
    DataThread& operator=(const DataThread&) = delete;

  private:
    void run();
    void sleep();

    DataPath& path_;
    std::atomic<bool> stop_ = false;
    std::thread thread_;
};

} // namespace mrz::queues
