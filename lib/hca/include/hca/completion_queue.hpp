// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Completion queues.
#pragma once

#include <hca/queue.hpp>
#include <hca/work.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <span>

namespace mrz::hca {

struct CqOptions {
    std::uint32_t capacity = 256; //!< Completions that it holds.
    //! Called once for each arm() that came true, with the queue's number, on the thread that made the completion,
    //! without any lock held: it may call the engine. Writing an eventfd is the usual thing to do.
    std::function<void(std::uint32_t)> on_completion = {};
};

//! What a notification waits for.
enum class Notify : std::uint8_t { none, solicited, next };

//! Thread-safe.
class CompletionQueue {
  public:
    CompletionQueue(std::uint32_t number, CqOptions options);
    CompletionQueue(const CompletionQueue&) = delete;
    CompletionQueue& operator=(const CompletionQueue&) = delete;

    [[nodiscard]] std::uint32_t number() const noexcept { return number_; }
    [[nodiscard]] std::uint32_t capacity() const;
    [[nodiscard]] std::size_t size() const;

    //! Takes the oldest completions, at most as many as \p completions holds; returns their number. Hca::poll also
    //! lets work go on that waits for a timer.
    std::size_t poll(std::span<Completion> completions);
    //! Asks for one notification: of the next completion that is added, or the next solicited one or failure.
    //! Completions that are there already do not count: poll again after arming. Arming for `next` stays over
    //! `solicited`.
    void arm(Notify notify);
    //! A completion was lost because the queue was full. The queue accepts no more; what it holds can be polled.
    [[nodiscard]] bool overrun() const;
    //! Throws Error, EINVAL if \p capacity is 0 or less than what it holds.
    void resize(std::uint32_t capacity);

    // What follows is for the engine.

    enum class Pushed : std::uint8_t { stored, overrun_now, lost };
    struct PushResult {
        Pushed pushed;
        bool notify; //!< Call notify() as soon as no lock is held.
    };
    //! Adds a completion. Polling it frees \p slots of \p queue (which may be null).
    PushResult push(const Completion& completion, bool solicited, SendQueue* queue, std::uint32_t slots);
    //! Drops all that a queue pair has in it.
    void purge(std::uint32_t qpn);
    void notify() const;

  private:
    struct Entry {
        Completion completion;
        SendQueue* queue;
        std::uint32_t slots;
    };

    const std::uint32_t number_;
    const std::function<void(std::uint32_t)> on_completion_;
    mutable std::mutex mutex_;
    std::uint32_t capacity_;
    std::deque<Entry> entries_;
    Notify armed_ = Notify::none;
    bool overrun_ = false;
};

} // namespace mrz::hca
