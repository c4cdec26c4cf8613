// SPDX-License-Identifier: BSD-3-Clause
#include "watch.hpp"

#include <mrzone/base.hpp>
#include <mrzone/signals_blocked.hpp>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <string>
#include <system_error>

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

namespace mrz::cache {

// ---- The process's ------------------------------------------------------------------------------------------------

//! The one that all listeners of a process share. Its lock is held across fork(), so that a child finds it free.
class WatcherOfProcess {
  public:
    static WatcherOfProcess& get()
    {
        static auto* const of_process = new WatcherOfProcess; // there to the end
        return *of_process;
    }
    Watcher& acquire()
    {
        const std::scoped_lock guard{mutex_};
        if (!watcher_)
            watcher_ = std::make_unique<Watcher>(Userfault{});
        ++users_;
        return *watcher_;
    }
    void release() noexcept
    {
        const std::scoped_lock guard{mutex_}; // the next one cannot watch what this one watches
        if (--users_ == 0)
            watcher_.reset();
    }

  private:
    WatcherOfProcess()
    {
        static const auto before = [] { get().mutex_.lock(); };
        static const auto in_parent = [] { get().mutex_.unlock(); };
        static const auto in_child = [] { get().forget(); };
        if (::pthread_atfork(+before, +in_parent, +in_child) != 0)
            throw std::bad_alloc{};
    }
    // The thread is not in the child, so this copy is never destroyed, nor are those who use it.
    void forget() noexcept
    {
        if (watcher_)
            watcher_.release()->userfault_.forget();
        users_ = 0;
        mutex_.unlock();
    }

    std::mutex mutex_;
    std::unique_ptr<Watcher> watcher_;
    std::size_t users_ = 0;
};

ProcessWatch::ProcessWatch() : watcher_{WatcherOfProcess::get().acquire()} {}

ProcessWatch::~ProcessWatch()
{
    WatcherOfProcess::get().release();
}

void ProcessWatch::watch(std::span<const std::byte> memory)
{
    watcher_.watch(range_of(memory));
}

// ---- The thread ---------------------------------------------------------------------------------------------------

Watcher::Watcher(Userfault userfault)
    : userfault_{std::move(userfault)}, bell_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)},
      clock_{::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)}
{
    const auto refuse = [](int error, const char* call) {
        throw Error{error,
                    {.trouble = Trouble::internal,
                     .what = "watching for memory that goes away",
                     .limit = std::string{call} + ": " + std::strerror(error),
                     .remedy = "raise the limits on open files (ulimit -n) and processes (ulimit -u, pids.max of the "
                               "control group)"}};
    };
    if (bell_.get() < 0 || clock_.get() < 0)
        refuse(errno, "a descriptor");
    const SignalsBlocked blocked;
    try {
        thread_ = std::thread{[this] { work(); }};
    } catch (const std::system_error& error) {
        refuse(error.code().value(), "a thread");
    }
    ::pthread_setname_np(thread_.native_handle(), "mrz-watch");
    // What a thread begins with is not ours: under a sanitizer, or another malloc(), it maps memory over what was
    // mapped before. Were that under watch already, it would wait for itself.
    thread_runs_.wait();
}

Watcher::~Watcher()
{
    // A child of a raw clone(2) may have a copy of the descriptor, which keeps alive what is not taken back here.
    for (const Mapping& mapping : mappings_)
        userfault_.unwatch(mapping.range);
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto put = ::write(bell_.get(), &one, sizeof one);
    thread_.join();
}

void Watcher::add(Listener& listener) noexcept
{
    const std::scoped_lock guard{mutex_, short_};
    listener.next_ = listeners_;
    listeners_ = &listener;
}

void Watcher::remove(Listener& listener) noexcept
{
    const std::scoped_lock guard{mutex_, short_};
    Listener** place = &listeners_;
    while (*place != &listener)
        place = &(*place)->next_;
    *place = listener.next_;
}

void Watcher::work() noexcept
{
    thread_runs_.count_down();
    std::array<pollfd, 3> all{{{.fd = userfault_.descriptor(), .events = POLLIN, .revents = 0},
                               {.fd = clock_.get(), .events = POLLIN, .revents = 0},
                               {.fd = bell_.get(), .events = POLLIN, .revents = 0}}};
    for (;;) {
        if (::poll(all.data(), all.size(), -1) < 0)
            continue;
        if (all[0].revents != 0)
            read_and_tell();
        if (all[1].revents != 0)
            tick();
        if (all[2].revents != 0)
            break;
    }
    // Read, and not only seen: what the destructor did before it rang is over.
    std::uint64_t rung = 0;
    [[maybe_unused]] const auto got = ::read(bell_.get(), &rung, sizeof rung);
    // Who waits still goes on now. Not after the thread's end, at which its stack is discarded: it would wait for
    // itself, were that under watch still.
    userfault_.forget();
}

// Whoever unmapped goes on once the event is read, which is before anybody has heard of it. So the mark comes first.
void Watcher::read_and_tell() noexcept
{
    const std::scoped_lock guard{short_};
    for (Listener* listener = listeners_; listener != nullptr; listener = listener->next_)
        listener->note_pending(true);
    std::array<Event, 16> room;
    for (const Event& event : userfault_.read(room))
        tell(event);
    for (Listener* listener = listeners_; listener != nullptr; listener = listener->next_)
        listener->note_pending(false);
}

void Watcher::tell(const Event& event) noexcept
{
    static constexpr Range everything{0, std::numeric_limits<std::uintptr_t>::max()};
    switch (event.what) {
    case Event::Is::unmapped:
        note_torn(event.range);
        tell(event.range);
        return;
    case Event::Is::discarded:
        note_discarded(event.range);
        tell(event.range);
        return;
    case Event::Is::moved:
        for (const Range& range : {event.range, event.to}) {
            note_torn(range);
            tell(range);
        }
        return;
    case Event::Is::unknown:
        note_torn(everything);
        note_discarded(everything);
        tell(everything);
        return;
    }
}

void Watcher::tell(const Range& range) noexcept
{
    const std::span memory{reinterpret_cast<const std::byte*>(range.begin), range.length()};
    for (Listener* listener = listeners_; listener != nullptr; listener = listener->next_)
        listener->note_gone(memory);
}

void Watcher::note_torn(const Range& range) noexcept
{
    for (Mapping& mapping : mappings_)
        mapping.torn = mapping.torn || mapping.range.overlaps(range);
}

void Watcher::note_discarded(const Range& range) noexcept
{
    // Of a tenth of a second each, the first one perhaps at once: a second.
    static constexpr unsigned a_while = 11;
    // Together with one that it touches; else in place of the oldest, if that is over, and else together with it.
    Discarded* place = nullptr;
    for (Discarded& one : discarded_)
        if (one.ticks > 0 && one.range.begin <= range.end && range.begin <= one.range.end)
            place = &one;
    if (place == nullptr) {
        place = &discarded_[next_discarded_];
        next_discarded_ = (next_discarded_ + 1) % discarded_.size();
    }
    if (place->ticks > 0)
        place->range = {std::min(place->range.begin, range.begin), std::max(place->range.end, range.end)};
    else
        place->range = range;
    place->ticks = a_while;
    set_clock(true);
}

// However often the clock struck meanwhile, this is one tick.
void Watcher::tick() noexcept
{
    std::uint64_t strokes = 0;
    [[maybe_unused]] const auto got = ::read(clock_.get(), &strokes, sizeof strokes);
    const std::scoped_lock guard{short_};
    bool any = false;
    for (Discarded& one : discarded_) {
        one.ticks -= one.ticks > 0 ? 1 : 0;
        any = any || one.ticks > 0;
    }
    if (!any)
        set_clock(false);
}

// Setting it anew while it runs would put off its next stroke, and there might never be one.
void Watcher::set_clock(bool runs) noexcept
{
    if (runs == clock_runs_)
        return;
    clock_runs_ = runs;
    static constexpr timespec a_tick{.tv_sec = 0, .tv_nsec = 100'000'000};
    const itimerspec times = runs ? itimerspec{.it_interval = a_tick, .it_value = a_tick} : itimerspec{};
    ::timerfd_settime(clock_.get(), 0, &times, nullptr);
}

} // namespace mrz::cache
