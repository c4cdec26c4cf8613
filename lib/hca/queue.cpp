// SPDX-License-Identifier: BSD-3-Clause
#include <hca/queue.hpp>

#include <cerrno>
#include <utility>

namespace mrz::hca {

SendQueue::SendQueue(const QueueLimits& limits) : limits_{limits}, ring_(limits.work_requests) {}

int SendQueue::push(const SendWorkRequest& request)
{
    const bool is_inline = has(request.flags, SendFlags::inline_data);
    if (request.sges.size() > limits_.sges || request.inline_bytes.size() > limits_.inline_bytes)
        return EINVAL;
    if (posted_ - released_.load(std::memory_order_acquire) >= limits_.work_requests)
        return ENOMEM;
    Work& work = ring_[(head_ + pending_) % ring_.size()];
    work.request = request;
    // assign() keeps what was allocated for the work before.
    work.sges.assign(request.sges.begin(), is_inline ? request.sges.begin() : request.sges.end());
    work.inline_bytes.assign(request.inline_bytes.begin(), request.inline_bytes.end());
    work.request.sges = work.sges;
    work.request.inline_bytes = work.inline_bytes;
    ++pending_;
    ++posted_;
    return 0;
}

void SendQueue::pop() noexcept
{
    ring_[head_].request.link.reset();
    head_ = (head_ + 1) % ring_.size();
    --pending_;
    ++unreported_;
}

std::uint32_t SendQueue::take_unreported() noexcept
{
    return std::exchange(unreported_, 0);
}

void SendQueue::reset() noexcept
{
    for (Work& work : ring_)
        work.request.link.reset();
    head_ = 0;
    pending_ = 0;
    unreported_ = 0;
    posted_ = 0;
    released_.store(0, std::memory_order_relaxed);
}

ReceiveQueue::ReceiveQueue(const QueueLimits& limits, std::shared_ptr<ReceiveSource> source)
    : limits_{limits}, source_{std::move(source)}, ring_(source_ ? 0 : limits.work_requests)
{
}

int ReceiveQueue::push(const ReceiveWorkRequest& request)
{
    if (source_ || request.sges.size() > limits_.sges)
        return EINVAL;
    const std::lock_guard lock{mutex_};
    if (closed_)
        return EINVAL;
    if (pending_ == ring_.size())
        return ENOMEM;
    ReceiveWork& work = ring_[(head_ + pending_) % ring_.size()];
    work.id = request.id;
    work.sges.assign(request.sges.begin(), request.sges.end());
    ++pending_;
    return 0;
}

ReceiveQueue::Popped ReceiveQueue::pop(ReceiveWork& work)
{
    const std::lock_guard lock{mutex_};
    if (source_)
        return closed_ ? Popped::nothing : source_->take(work);
    if (pending_ == 0)
        return Popped::nothing;
    std::swap(work, ring_[head_]);
    head_ = (head_ + 1) % ring_.size();
    --pending_;
    if (pending_ >= limit_)
        return Popped::work;
    limit_ = 0;
    return Popped::work_and_limit;
}

std::uint32_t ReceiveQueue::size() const
{
    const std::lock_guard lock{mutex_};
    return pending_;
}

void ReceiveQueue::arm_limit(std::uint32_t limit)
{
    const std::lock_guard lock{mutex_};
    limit_ = limit;
}

std::uint32_t ReceiveQueue::limit() const
{
    const std::lock_guard lock{mutex_};
    return limit_;
}

void ReceiveQueue::reset()
{
    const std::lock_guard lock{mutex_};
    if (source_)
        source_->reset();
    head_ = 0;
    pending_ = 0;
}

void ReceiveQueue::close()
{
    const std::lock_guard lock{mutex_};
    closed_ = true;
    pending_ = 0;
}

} // namespace mrz::hca
