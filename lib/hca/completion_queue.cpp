// SPDX-License-Identifier: BSD-3-Clause
#include <hca/completion_queue.hpp>

#include "refuse.hpp"

#include <algorithm>
#include <utility>

namespace mrz::hca {

CompletionQueue::CompletionQueue(std::uint32_t number, CqOptions options)
    : number_{number}, on_completion_{std::move(options.on_completion)}, capacity_{options.capacity}
{
}

std::uint32_t CompletionQueue::capacity() const
{
    const std::lock_guard lock{mutex_};
    return capacity_;
}

std::size_t CompletionQueue::size() const
{
    const std::lock_guard lock{mutex_};
    return entries_.size();
}

std::size_t CompletionQueue::poll(std::span<Completion> completions)
{
    const std::lock_guard lock{mutex_};
    const std::size_t count = std::min(completions.size(), entries_.size());
    for (std::size_t i = 0; i < count; ++i) {
        const Entry& entry = entries_.front();
        completions[i] = entry.completion;
        // The queue exists: who destroys a queue pair purges it from here first.
        if (entry.queue != nullptr)
            entry.queue->release(entry.slots);
        entries_.pop_front();
    }
    return count;
}

void CompletionQueue::arm(Notify notify)
{
    const std::lock_guard lock{mutex_};
    armed_ = std::max(armed_, notify);
}

bool CompletionQueue::overrun() const
{
    const std::lock_guard lock{mutex_};
    return overrun_;
}

void CompletionQueue::resize(std::uint32_t capacity)
{
    const std::lock_guard lock{mutex_};
    const std::uint64_t smallest = std::max<std::uint64_t>(1, entries_.size());
    if (capacity < smallest)
        refuse_invalid("resize a completion queue to " + std::to_string(capacity),
                       "the completions that it must hold", smallest, capacity, "poll it first");
    capacity_ = capacity;
}

CompletionQueue::PushResult CompletionQueue::push(const Completion& completion, bool solicited, SendQueue* queue,
                                                  std::uint32_t slots)
{
    const std::lock_guard lock{mutex_};
    if (overrun_)
        return {Pushed::lost, false};
    if (entries_.size() >= capacity_) {
        overrun_ = true;
        return {Pushed::overrun_now, false};
    }
    entries_.push_back({completion, queue, slots});
    const bool wanted = armed_ == Notify::next ||
                        (armed_ == Notify::solicited && (solicited || completion.status != WcStatus::success));
    if (wanted)
        armed_ = Notify::none;
    return {Pushed::stored, wanted && on_completion_};
}

void CompletionQueue::purge(std::uint32_t qpn)
{
    const std::lock_guard lock{mutex_};
    std::erase_if(entries_, [qpn](const Entry& entry) { return entry.completion.qpn == qpn; });
}

void CompletionQueue::notify() const
{
    if (on_completion_)
        on_completion_(number_);
}

} // namespace mrz::hca
