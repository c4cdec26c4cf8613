// SPDX-License-Identifier: BSD-3-Clause
#include "queues/data_thread.hpp"

#include <mrzone/base.hpp>

#include <chrono>
#include <ctime>
#include <string>

#include <poll.h>
#include <pthread.h>

namespace mrz::queues {

DataThread::DataThread(DataPath& path, Links* links) : path_{path}, links_{links}, thread_{[this] { run(); }} {}

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
            const bool more = path_.turn();
            // What links bring is in the inbox then.
            if (!(links_ != nullptr && links_->work()) && !more)
                sleep();
        } catch (const std::exception& error) {
            log(Severity::error, "the data thread: " + std::string{error.what()});
        }
    }
}

void DataThread::sleep()
{
    if (links_ != nullptr && !links_->prepare_to_sleep())
        return;
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
    descriptors_.assign({{path_.inbox().descriptor(), POLLIN, 0}});
    if (links_ != nullptr)
        links_->watch(descriptors_);
    ppoll(descriptors_.data(), descriptors_.size(), deadline ? &timeout : nullptr, nullptr);
    path_.inbox().awake();
    if (links_ != nullptr)
        links_->awake(std::span{descriptors_}.subspan(1));
}

} // namespace mrz::queues
