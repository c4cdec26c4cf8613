// SPDX-License-Identifier: BSD-3-Clause
#include "work.hpp"

#include "common/measuring.hpp"

#include <algorithm>
#include <utility>

namespace mrz::perf {

Work::Work(const Domain& domain, std::span<Line> lines, const LineUse& use, const Options& options)
    : domain_{domain}, lines_{lines}, use_{use}, options_{options}
{
    shared_.silence = options.silence;
    const Settings& settings = use.settings;
    if (!use.begins() && settings.operation != Operation::send)
        return; // the device does it all
    if (settings.latency) {
        const bool answered = settings.operation == Operation::write || settings.operation == Operation::send;
        tasks_.push_back(
            (answered ? make_ping_pong : make_one_sided)(lines.front(), use, make_initiator(lines.front()), shared_));
    } else {
        for (unsigned thread = 0; thread < settings.threads; ++thread) {
            std::vector<std::unique_ptr<Stream>> streams;
            for (Line& line : lines.subspan(std::size_t{thread} * settings.queue_pairs, settings.queue_pairs))
                streams.push_back(
                    std::make_unique<Stream>(line, use, use.begins() ? make_initiator(line) : nullptr, shared_));
            tasks_.push_back(std::make_unique<StreamsTask>(std::move(streams), shared_));
        }
    }
    ready_.emplace(static_cast<std::ptrdiff_t>(tasks_.size()));
}

Work::~Work()
{
    shared_.abandoned = true;
    for (std::thread& thread : threads_)
        thread.join();
}

std::unique_ptr<Initiator> Work::make_initiator(Line& line)
{
    const std::size_t depth = use_.depth();
    // Operations under way hold whole regions: merged ones hold no more than half of the budget together, or there
    // would be no room for the next.
    const std::size_t merge_up_to = std::min<std::size_t>(use_.settings.cache / 2 / depth, std::size_t{2} << 20);
    auto tier = app::make_tier(use_.step.registration, domain_,
                               {.memory = line.local,
                                .lasting = options_.lasting,
                                .depth = depth,
                                .cache_bytes = use_.settings.cache,
                                .merge_up_to = merge_up_to});
    auto initiator = std::make_unique<Initiator>(line, use_, std::move(tier));
    if (use_.step.registration == TierKind::temporary || use_.step.registration == TierKind::batch)
        initiator->warm_up(use_.settings.cache);
    return initiator;
}

void Work::start()
{
    processor_begin_ = app::processor_seconds();
    shared_.rate.begin(Clock::now());
    threads_.reserve(tasks_.size());
    try {
        for (const auto& task : tasks_)
            threads_.emplace_back([this, &task] { run(*task); });
    } catch (...) {
        // Those that are there wait for the others.
        shared_.abandoned = true;
        ready_->count_down(static_cast<std::ptrdiff_t>(tasks_.size() - threads_.size()));
        throw;
    }
}

void Work::run(Task& task) noexcept
{
    try {
        ready_->arrive_and_wait();
        const auto begin = Clock::now();
        task.begin_all();
        const auto end = Clock::now();
        {
            const std::scoped_lock guard{mutex_};
            first_ = std::min(first_.value_or(begin), begin);
            last_ = std::max(last_, end);
            if (begun_ + 1 == tasks_.size())
                processor_end_ = app::processor_seconds();
            ++begun_;
        }
        task.receive_rest();
        ++ended_;
    } catch (...) {
        {
            const std::scoped_lock guard{mutex_};
            if (!failure_)
                failure_ = std::current_exception();
        }
        failed_ = true;
        shared_.abandoned = true;
    }
}

void Work::expect(std::span<const std::uint64_t> operations) noexcept
{
    for (const auto& task : tasks_)
        for (std::size_t line = 0; line < operations.size(); ++line)
            task->expect(static_cast<unsigned>(line), operations[line]);
}

void Work::rethrow() const
{
    const std::scoped_lock guard{mutex_};
    if (failure_)
        std::rethrow_exception(failure_);
}

Outcome Work::outcome() const
{
    const std::scoped_lock guard{mutex_};
    Outcome outcome;
    for (const auto& task : tasks_) {
        for (const std::uint64_t count : task->operations())
            outcome.operations.push_back(count);
        if (const Latencies* const latencies = task->latencies())
            outcome.latency = latencies->summary();
    }
    outcome.operations.resize(lines_.size());
    outcome.bytes = outcome.total_operations() * use_.step.size;
    if (first_ && outcome.bytes > 0) {
        outcome.seconds = std::chrono::duration<double>(last_ - *first_).count();
        // What came in the last window, which is not over, may be more than any other's.
        if (const auto peak = shared_.rate.peak(last_))
            outcome.peak = std::max(*peak, outcome.rate());
    }
    outcome.processor_seconds = (use_.begins() ? processor_end_ : app::processor_seconds()) - processor_begin_;
    return outcome;
}

} // namespace mrz::perf
