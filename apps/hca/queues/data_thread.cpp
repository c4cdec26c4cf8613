// SPDX-License-Identifier: BSD-3-Clause
#include "queues/data_thread.hpp"

#include <mrzone/base.hpp>

#include <chrono>
#include <ctime>
#include <string>

#include <poll.h>
#include <pthread.h>

namespace mrz::queues {

DataThread::DataThread(DataPath& path) : path_{path}, thread_{[this] { run(); }} {}

DataThread::~DataThread()
{
    stop_.store(true);
    path_.inbox().wake();
    thread_.join();
}

void DataThread::run()
{
    pthread_setname_np(pthread_self(), "mrz-hca-data");
    while (!stop_.load()) {
        try {
            if (!path_.turn())
                sleep();
        } catch (const std::exception& error) {
            log(Severity::error, "the data thread: " + std::string{error.what()});
        }
    }
}

void DataThread::sleep()
{
    const auto deadline = path_.deadline();
    if (!path_.inbox().prepare_to_sleep())
        return;
    timespec timeout{};
    if (deadline) {
        const auto left = std::max(Clock::duration::zero(), *deadline - Clock::now());
        const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(left);
        timeout.tv_sec = seconds.count();
        timeout.tv_nsec = std::chrono::nanoseconds{left - seconds}.count();
    }
    pollfd wakes{path_.inbox().descriptor(), POLLIN, 0};
    ppoll(&wakes, 1, deadline ? &timeout : nullptr, nullptr);
    path_.inbox().awake();
}

} // namespace mrz::queues
