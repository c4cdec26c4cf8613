// SPDX-License-Identifier: BSD-3-Clause
#include "task.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <sched.h>
#include <string>
#include <thread>
#include <utility>

namespace mrz::perf {

void Idle::wait(const std::vector<Line*>& lines, bool under_way)
{
    // Then others may need the processor: a software adapter's threads, for one.
    static const unsigned spins = std::thread::hardware_concurrency() > 8 ? 4096 : 32;
    constexpr unsigned looks = 1024;
    if (times_++ == 0)
        since_ = Clock::now();
    if (times_ > spins)
        ::sched_yield();
    if (times_ % looks != 0)
        return;
    for (Line* const line : lines)
        if (!line->connection->connected())
            throw Error{ECONNRESET,
                        {.trouble = Trouble::peer,
                         .what = "an operation of the measurement",
                         .limit = "the other end has disconnected, or has ended",
                         .remedy = "see what the other end says"}};
    if (under_way && Clock::now() - since_ > shared_.silence)
        throw Error{ETIMEDOUT,
                    {.trouble = Trouble::peer,
                     .what = "an operation of the measurement",
                     .limit = "milliseconds within which one completes",
                     .present = static_cast<std::uint64_t>(shared_.silence.count()),
                     .remedy = "look at the other end, and at the link"}};
}

Stream::Stream(Line& line, const LineUse& use, std::unique_ptr<Initiator> initiator, Shared& shared)
    : line_{line}, use_{use}, slots_{use.slots()}, sent_{Pattern::brought(use.step.seed, !use.server, line.number)},
      initiator_{std::move(initiator)}, shared_{shared}, received_before_{line.receiver ? line.receiver->received()
                                                                                        : 0}
{
    if (!line_.receiver)
        expected_ = 0;
}

void Stream::expect(std::uint64_t operations) noexcept
{
    if (line_.receiver) // else what the other end does is not seen here
        expected_ = operations;
}

bool Stream::may_begin() const noexcept
{
    if (!initiator_ || shared_.stopping.load(std::memory_order_relaxed))
        return false;
    return use_.step.operations == 0 || initiator_->begun() < use_.step.operations;
}

bool Stream::begun_all() const noexcept
{
    return !initiator_ || (!may_begin() && initiator_->completed() == initiator_->begun());
}

bool Stream::ended() const noexcept
{
    const std::uint64_t expected = expected_.load(std::memory_order_acquire);
    return begun_all() &&
           (expected == 0 || (expected != unknown && line_.receiver->received() - received_before_ >= expected));
}

bool Stream::under_way() const noexcept
{
    return initiator_ && initiator_->begun() != initiator_->completed();
}

bool Stream::begin()
{
    if (!initiator_)
        return false;
    if (!may_begin()) {
        // The last ones have no completion of their own to tell of them.
        if (!initiator_->needs_signal())
            return false;
        initiator_->begin(1, true);
        return true;
    }
    std::size_t room = initiator_->room();
    if (use_.step.operations != 0)
        room = static_cast<std::size_t>(std::min<std::uint64_t>(room, use_.step.operations - initiator_->begun()));
    if (!initiator_->takes_many()) {
        for (std::size_t i = 0; i < room; ++i)
            initiator_->begin(1, initiator_->begun() + 1 == use_.step.operations);
        return room > 0;
    }
    // Half of what may be under way, unless that is cut by the end, of the numbers or of all.
    const std::size_t under = static_cast<std::size_t>(initiator_->begun() - initiator_->completed());
    if (room == 0 || under > initiator_->depth() / 2)
        return false;
    initiator_->begin(room, initiator_->begun() + room == use_.step.operations);
    return true;
}

bool Stream::advance()
{
    bool any = begin();
    std::array<Completion, 32> completions;
    const std::size_t count = line_.connection->queue_pair().poll(completions);
    if (count == 0)
        return any;
    const std::uint64_t before = initiator_ ? initiator_->completed() : 0;
    for (const Completion& one : std::span{completions}.first(count)) {
        if ((one.id & Receiver::mark) == 0 && initiator_) {
            initiator_->complete(one);
            continue;
        }
        if (one.status != WcStatus::success)
            throw failure_of(one);
        const std::uint64_t number = line_.receiver->received() - received_before_;
        line_.receiver->take(one, slots_.size(), use_.settings.verify ? &sent_ : nullptr, slots_.offset(number));
    }
    if (line_.receiver)
        line_.receiver->refill();
    if (initiator_) {
        shared_.rate.add((initiator_->completed() - before) * slots_.size(), RateWindows::Clock::now());
        initiator_->quiescent();
    }
    return true;
}

StreamsTask::StreamsTask(std::vector<std::unique_ptr<Stream>> streams, Shared& shared)
    : streams_{std::move(streams)}, shared_{shared}
{
    for (const auto& stream : streams_)
        lines_.push_back(&stream->line());
}

void StreamsTask::run(bool (Stream::*done)() const noexcept)
{
    Idle idle{shared_};
    while (!shared_.abandoned.load(std::memory_order_relaxed)) {
        bool any = false;
        bool all_done = true;
        bool under_way = false;
        for (const auto& stream : streams_) {
            any |= stream->advance();
            all_done &= ((*stream).*done)();
            under_way |= stream->under_way();
        }
        if (all_done)
            return;
        if (any)
            idle.reset();
        else
            idle.wait(lines_, under_way);
    }
}

void StreamsTask::begin_all()
{
    run(&Stream::begun_all);
}

void StreamsTask::receive_rest()
{
    run(&Stream::ended);
}

void StreamsTask::expect(unsigned line, std::uint64_t operations) noexcept
{
    for (const auto& stream : streams_)
        if (stream->line().number == line)
            stream->expect(operations);
}

std::vector<std::uint64_t> StreamsTask::operations() const
{
    std::vector<std::uint64_t> counts;
    for (const auto& stream : streams_)
        counts.push_back(stream->begun());
    return counts;
}

} // namespace mrz::perf
