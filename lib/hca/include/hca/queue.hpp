// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Work queues: rings of work requests that were posted and have not been carried out.
#pragma once

#include <hca/work.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace mrz::hca {

struct QueueLimits {
    std::uint32_t work_requests = 64;
    std::uint32_t sges = 4;         //!< Of one work request.
    std::uint32_t inline_bytes = 0; //!< Of one work request.
};

//! Send work in order. A slot is taken by posting and becomes free, as with hardware, when the completion of that
//! work or of later work is polled. Guarded by the queue pair's send lock, but for release().
class SendQueue {
  public:
    struct Work {
        SendWorkRequest request; // its spans point to what follows
        std::vector<Sge> sges;
        std::vector<std::byte> inline_bytes;
    };

    explicit SendQueue(const QueueLimits& limits);

    [[nodiscard]] const QueueLimits& limits() const noexcept { return limits_; }
    [[nodiscard]] bool empty() const noexcept { return pending_ == 0; }
    [[nodiscard]] std::uint32_t pending() const noexcept { return pending_; }
    //! Copies a request behind the others. Returns 0, ENOMEM (no free slot) or EINVAL (more than the limits).
    [[nodiscard]] int push(const SendWorkRequest& request);
    //! The oldest work; there must be one.
    [[nodiscard]] Work& front() noexcept { return ring_[head_]; }
    //! The one that was posted so many after the oldest; less than pending().
    [[nodiscard]] Work& at(std::uint32_t place) noexcept { return ring_[(head_ + place) % ring_.size()]; }
    void pop() noexcept;
    //! How many slots the completion of the work popped last frees: its own and those of silent work before it.
    [[nodiscard]] std::uint32_t take_unreported() noexcept;
    //! Frees slots. Thread-safe.
    void release(std::uint32_t slots) noexcept { released_.fetch_add(slots, std::memory_order_release); }
    void reset() noexcept;

  private:
    QueueLimits limits_;
    std::vector<Work> ring_;
    std::size_t head_ = 0;
    std::uint32_t pending_ = 0;
    std::uint32_t unreported_ = 0;
    std::uint64_t posted_ = 0;
    std::atomic<std::uint64_t> released_ = 0;
};

//! A receive that was taken for a message.
struct ReceiveWork {
    std::uint64_t id = 0;
    std::vector<Sge> sges;
};

//! What taking a receive brought.
enum class Popped : std::uint8_t { nothing, work, work_and_limit };

//! Receives that nobody posts: they lie in memory, where their owner put them, and are read from there when a message
//! needs one, as an adapter in hardware does it.
class ReceiveSource {
  public:
    virtual ~ReceiveSource() = default;

    //! Takes the oldest one. work_and_limit: fewer are left than its owner wanted to be told of. One call at a time
    //! for a queue. Locks of the engine are held, the access lock (see Hca::pause()) among them: it may use the bus,
    //! and must not call the engine.
    [[nodiscard]] virtual Popped take(ReceiveWork& work) = 0;
    //! The queue pair was reset: it begins anew.
    virtual void reset() noexcept = 0;

  protected:
    ReceiveSource() = default;
    ReceiveSource(const ReceiveSource&) = default;
    ReceiveSource& operator=(const ReceiveSource&) = default;
};

//! Receive work in order. Thread-safe.
class ReceiveQueue {
  public:
    //! With a \p source nothing can be posted, and the limit is the source's affair.
    explicit ReceiveQueue(const QueueLimits& limits, std::shared_ptr<ReceiveSource> source = {});

    //! Returns 0, ENOMEM (full) or EINVAL (too many sges, closed, there is a source).
    [[nodiscard]] int push(const ReceiveWorkRequest& request);
    using Popped = mrz::hca::Popped;
    //! Takes the oldest one. work_and_limit: fewer are left than the limit that was armed, which thereby is no more.
    [[nodiscard]] Popped pop(ReceiveWork& work);
    //! Of those that were posted.
    [[nodiscard]] std::uint32_t size() const;
    [[nodiscard]] const QueueLimits& limits() const noexcept { return limits_; }
    void arm_limit(std::uint32_t limit);
    [[nodiscard]] std::uint32_t limit() const;
    void reset();
    //! Forgets its work and takes no more.
    void close();

  private:
    const QueueLimits limits_;
    const std::shared_ptr<ReceiveSource> source_;
    mutable std::mutex mutex_;
    std::vector<ReceiveWork> ring_;
    std::size_t head_ = 0;
    std::uint32_t pending_ = 0;
    std::uint32_t limit_ = 0;
    bool closed_ = false;
};

} // namespace mrz::hca
