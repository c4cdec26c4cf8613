// SPDX-License-Identifier: BSD-3-Clause
#include "keeper.hpp"

#include <mrzone/base.hpp>
#include <mrzone/signals_blocked.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include <pthread.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace mrz::soft {
namespace {

using namespace std::chrono_literals;

// How long it looks for more before it sleeps: waking takes the peer a system call and some microseconds.
constexpr auto awake_after_work = 50us;
// How often it looks whether a link that is polled still is.
constexpr auto look_at_polled = 1ms;

// How often it looks in vain before it lets others have the CPU, while it is awake.
constexpr unsigned looks_in_vain = 8;

constexpr std::uint64_t bell_event = 0; // links' numbers begin with 1: number * 2, and 1 more for the process

[[noreturn]] void fail(int error, const char* call)
{
    throw Error{error,
                {.trouble = Trouble::internal,
                 .what = "looking after a connection of the software adapter",
                 .limit = std::string{call} + ": " + std::strerror(error),
                 .remedy = "raise the limits on open files (ulimit -n) and processes (ulimit -u, pids.max of the "
                           "control group)"}};
}

void ring(const FileDescriptor& bell) noexcept
{
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto put = ::write(bell.get(), &one, sizeof one);
}

} // namespace

struct Keeper::Thread {
    FileDescriptor epoll{::epoll_create1(EPOLL_CLOEXEC)};
    std::shared_ptr<FileDescriptor> bell = std::make_shared<FileDescriptor>(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    std::atomic<bool> stopping = false;
    std::thread thread;

    void watch(int descriptor, std::uint64_t event) const
    {
        epoll_event wanted{};
        wanted.events = EPOLLIN;
        wanted.data.u64 = event;
        if (::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, descriptor, &wanted) != 0)
            fail(errno, "epoll_ctl");
    }
    void forget(Kept& kept) const noexcept
    {
        if (!std::exchange(kept.watched, false))
            return;
        ::epoll_ctl(epoll.get(), EPOLL_CTL_DEL, kept.link->socket(), nullptr);
        if (kept.link->process() >= 0)
            ::epoll_ctl(epoll.get(), EPOLL_CTL_DEL, kept.link->process(), nullptr);
    }
};

Keeper::Keeper(hca::Hca& engine) : engine_{engine}, process_{::getpid()} {}

Keeper::~Keeper()
{
    // In a child of fork() there is no such thread, and nothing that could be waited for.
    if (process_ != ::getpid())
        static_cast<void>(thread_.release());
    else if (thread_)
        stop(std::move(thread_));
}

std::shared_ptr<hca::Link> Keeper::add(std::unique_ptr<hca::Wire> wire,
                                       const std::function<void(const std::shared_ptr<hca::Link>&)>& join)
{
    const std::lock_guard life{life_};
    if (!thread_)
        start();
    try {
        auto call = std::make_shared<Call>();
        call->bell = thread_->bell;
        auto link = std::make_shared<hca::Link>(std::move(wire), [call] {
            call->rung.store(true);
            ring(*call->bell);
        });
        join(link);
        waiting_.fetch_add(1);
        const std::lock_guard lock{mutex_};
        waiting_.fetch_sub(1);
        const std::uint64_t number = next_++;
        Kept& kept = kept_[number];
        kept.link = link;
        kept.call = call;
        try {
            thread_->watch(link->socket(), number * 2);
            kept.watched = true;
            if (link->process() >= 0)
                thread_->watch(link->process(), number * 2 + 1);
        } catch (...) {
            thread_->forget(kept);
            kept_.erase(number);
            throw;
        }
        ring(*call->bell);
        return link;
    } catch (...) {
        if (kept_.empty())
            stop(std::move(thread_));
        throw;
    }
}

void Keeper::remove(const std::shared_ptr<hca::Link>& link) noexcept
{
    if (process_ != ::getpid())
        return;
    const std::lock_guard life{life_};
    std::unique_ptr<Thread> last;
    {
        waiting_.fetch_add(1);
        const std::lock_guard lock{mutex_};
        waiting_.fetch_sub(1);
        const auto found =
            std::ranges::find_if(kept_, [&link](const auto& entry) { return entry.second.link == link; });
        if (found == kept_.end())
            return;
        thread_->forget(found->second);
        kept_.erase(found);
        if (kept_.empty())
            last = std::move(thread_);
    }
    if (last)
        stop(std::move(last));
}

void Keeper::start()
{
    auto thread = std::make_unique<Thread>();
    if (!thread->epoll.valid() || !thread->bell->valid())
        fail(errno, "a descriptor");
    thread->watch(thread->bell->get(), bell_event);
    const SignalsBlocked blocked;
    try {
        thread->thread = std::thread{[this, &running = *thread] { work(running); }};
    } catch (const std::system_error& error) {
        fail(error.code().value(), "a thread");
    }
    ::pthread_setname_np(thread->thread.native_handle(), "mrz-soft");
    thread_ = std::move(thread);
}

void Keeper::stop(std::unique_ptr<Thread> thread) noexcept
{
    thread->stopping.store(true);
    ring(*thread->bell);
    thread->thread.join();
}

void Keeper::work(Thread& thread)
{
    int timeout = 0;
    unsigned in_vain = 0;
    while (!thread.stopping.load()) {
        std::array<epoll_event, 32> events{};
        const int ready = ::epoll_wait(thread.epoll.get(), events.data(), static_cast<int>(events.size()), timeout);
        while (waiting_.load() != 0)
            std::this_thread::yield();
        const std::lock_guard lock{mutex_};
        worked_ = false;
        for (int i = 0; i < ready; ++i) {
            const std::uint64_t event = events[static_cast<std::size_t>(i)].data.u64;
            if (event == bell_event) {
                std::uint64_t rings = 0;
                [[maybe_unused]] const auto got = ::read(thread.bell->get(), &rings, sizeof rings);
            } else {
                hear(event);
            }
        }
        for (auto& [number, kept] : kept_) {
            if (kept.call->rung.load() && kept.call->rung.exchange(false))
                kept.awake = true;
            if (kept.awake)
                look_after(kept, thread);
        }
        try {
            engine_.progress();
        } catch (const std::exception& error) {
            log_once(Severity::error, std::string{"soft: work for connections is late: "} + error.what());
        }
        timeout = rest();
        in_vain = worked_ ? 0 : in_vain + 1;
        if (timeout == 0 && in_vain % looks_in_vain == 0)
            ::sched_yield(); // perhaps the peer needs this CPU
    }
}

void Keeper::hear(std::uint64_t event)
{
    const auto found = kept_.find(event / 2);
    if (found == kept_.end())
        return;
    found->second.awake = true;
    if (event % 2 == 0)
        found->second.link->hear();
    else
        found->second.link->lost();
}

void Keeper::look_after(Kept& kept, Thread& thread)
{
    hca::Link& link = *kept.link;
    const Clock::time_point now = Clock::now();
    if (link.open() && link.attended()) {
        if (kept.polls != link.polls()) {
            kept.polls = link.polls();
            kept.polled = now;
        }
        if (now - kept.polled < look_at_polled)
            return;
        link.unattend();
    }
    try {
        if (engine_.progress(link, true)) {
            kept.worked = now;
            worked_ = true;
        }
    } catch (const std::exception& error) { // for want of memory
        link.close(error.what());
    }
    if (!link.open())
        thread.forget(kept);
    if (link.ended() || (now - kept.worked >= awake_after_work && link.sleep()))
        kept.awake = false;
}

// How long epoll may wait, in its terms.
int Keeper::rest() const
{
    Clock::duration longest = Clock::duration::max();
    for (const auto& [number, kept] : kept_) {
        if (kept.awake)
            longest =
                std::min<Clock::duration>(longest, kept.link->open() && kept.link->attended() ? look_at_polled : 0ms);
    }
    if (const auto deadline = engine_.next_link_deadline())
        longest = std::min(longest, std::max<Clock::duration>(*deadline - Clock::now(), 0ms));
    if (longest == Clock::duration::max())
        return -1;
    return static_cast<int>(
        std::min<std::int64_t>(std::chrono::ceil<std::chrono::milliseconds>(longest).count(), 60'000));
}

} // namespace mrz::soft
