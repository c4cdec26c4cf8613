// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! The thread that deregisters, and what wakes it.
#include "state.hpp"

#include <mrzone/signals_blocked.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <new>
#include <string>
#include <system_error>

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace mrz {

using std::chrono::nanoseconds;

namespace {

//! What it costs to give a region back, at the rates that are allowed; a day at most, so that sums of it are a time.
nanoseconds cost(const cache::Charge& charge, const CacheOptions& options)
{
    static constexpr double most = 86400e9;
    const auto at_rate = [](std::uint64_t amount, std::uint64_t a_second) {
        return 1e9 * static_cast<double>(amount) / static_cast<double>(a_second);
    };
    return nanoseconds{
        static_cast<std::int64_t>(std::min(most, std::max(at_rate(charge.bytes, options.deregister_bytes),
                                                          at_rate(charge.keys, options.deregister_keys))))};
}

} // namespace

void CacheState::make_bell()
{
    bell_ = FileDescriptor{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    if (bell_.get() < 0)
        throw Error{errno,
                    {.trouble = Trouble::internal,
                     .what = "making a cache",
                     .limit = std::string{"eventfd: "} + std::strerror(errno),
                     .remedy = "raise the limit on open files (ulimit -n), or close some"}};
}

void CacheState::start_thread()
{
    const SignalsBlocked blocked;
    try {
        thread_ = std::thread{[this] { work(); }};
    } catch (const std::system_error& error) {
        throw Error{error.code().value(),
                    {.trouble = Trouble::internal,
                     .what = "making a cache",
                     .limit = std::string{"a thread: "} + error.what(),
                     .remedy = "raise the limit on processes (ulimit -u, pids.max of the control group)"}};
    }
    ::pthread_setname_np(thread_.native_handle(), "mrz-cache");
}

void CacheState::ring() noexcept
{
    in_haste_.store(true);
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto put = ::write(bell_.get(), &one, sizeof one); // refused only while it rings
}

void CacheState::ring_soon() noexcept
{
    if (std::exchange(told_, true))
        return;
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto put = ::write(bell_.get(), &one, sizeof one);
}

void CacheState::note_release() noexcept
{
    some_ended_.store(true);
    ring();
}

void CacheState::sleep(Lock& lock, std::optional<Clock::time_point> until) const noexcept
{
    lock.unlock();
    pollfd bell{.fd = bell_.get(), .events = POLLIN, .revents = 0};
    timespec rest{};
    if (until) {
        const auto left = std::max<nanoseconds>(*until - Clock::now(), nanoseconds{0});
        rest = {.tv_sec = left.count() / 1'000'000'000, .tv_nsec = left.count() % 1'000'000'000};
    }
    ::ppoll(&bell, 1, until ? &rest : nullptr, nullptr);
    std::uint64_t rings = 0;
    [[maybe_unused]] const auto got = ::read(bell_.get(), &rings, sizeof rings); // nothing, after a timeout
    lock.lock();
}

void CacheState::work() noexcept
{
    Lock lock{mutex_};
    for (;;) {
        if (some_hidden_.exchange(false)) {
            lock.unlock();
            look_up_.tidy();
            lock.lock();
        }
        if (some_ended_.load())
            collect_ended();
        if (!dying_.empty())
            deregister_some(lock);
        else if (stop_.load()) {
            sweep(lock);
            return;
        } else {
            sweep(lock);
            if (dying_.empty() && !some_ended_.load() && !stop_.load())
                wait_for_work(lock);
        }
    }
}

void CacheState::wait_for_work(Lock& lock) noexcept
{
    // To wake it for each region costs as much as to register one.
    static constexpr auto together = std::chrono::milliseconds{1};
    told_ = false;
    sleep(lock, {});
    if (!in_haste_.exchange(false))
        sleep(lock, Clock::now() + together);
}

void CacheState::sweep(Lock& lock)
{
    const std::uint64_t gone = deregistered_ - swept_at_;
    // It costs a look at all regions, so some have to go before.
    if (!watch_ || gone == 0 || gone < used_.keys / 4)
        return;
    swept_at_ = deregistered_;
    lock.unlock();
    try {
        watch_->watcher().sweep();
    } catch (const std::bad_alloc&) { // NOLINT(bugprone-empty-catch)
        // They stay under watch, which costs who unmaps them some time.
    }
    lock.lock();
}

void CacheState::deregister_some(Lock& lock) noexcept
{
    static constexpr std::size_t most = 16; // at once: callers who wait go on when they are gone
    static constexpr auto burst = std::chrono::milliseconds{10};
    const auto now = Clock::now();
    if (next_deregistration_ > now && !stop_.load()) {
        sleep(lock, next_deregistration_);
        return;
    }
    next_deregistration_ = std::max(next_deregistration_, now - burst);
    std::array<std::uint32_t, most> now_dying{};
    std::array<std::optional<Region>, most> regions;
    const std::size_t count = std::min(dying_.size(), most);
    for (std::size_t i = 0; i < count; ++i) {
        now_dying[i] = dying_[i];
        regions[i] = std::move(holdings_[dying_[i]].region);
        holdings_[dying_[i]].region.reset();
        next_deregistration_ += cost(holdings_[dying_[i]].charge, options_);
    }
    dying_.erase(dying_.begin(), dying_.begin() + static_cast<std::ptrdiff_t>(count));
    lock.unlock();
    for (std::size_t i = 0; i < count; ++i)
        regions[i].reset();
    lock.lock();
    for (std::size_t i = 0; i < count; ++i) {
        vacate(now_dying[i]);
        ++deregistered_;
    }
    changed_.notify_all();
}

void CacheState::shut() noexcept
{
    gate_.fetch_or(closed_bit);
    gate_.notify_all();
    if (!thread_.joinable())
        return;
    {
        const Lock lock{mutex_};
        chosen_.assign(alive_.begin(), alive_.end());
        give_up(chosen_);
        some_ended_.store(true);
    }
    stop_.store(true);
    ring();
    thread_.join();
    // Not with the state, whose last lease may be released in a callback of DPDK's.
    dpdk_.reset();
    end_watch();
}

} // namespace mrz
