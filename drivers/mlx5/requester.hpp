// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! A queue pair of the driver's own, connected to itself, for work requests that change keys.
#pragma once

#include "key_request.hpp"

#include <verbs/context.hpp>
#include <verbs/queue_pair.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

namespace mrz::mlx5 {

//! Serves one request after the other, and makes the queue pair when the first comes. Thread-safe.
class Requester {
  public:
    //! Requests take microseconds. Only of an adapter that has gone wrong does none tell its end within \p patience.
    explicit Requester(std::shared_ptr<verbs::Pd> pd, std::chrono::milliseconds patience = std::chrono::seconds{10})
        : pd_{std::move(pd)}, patience_{patience}
    {
    }

    //! Makes sure that there is a queue pair. Throws Error with the cause.
    void prepare();
    //! The key leads nowhere when this returns. Throws Error if the adapter refuses.
    void free(std::uint32_t mkey);
    //! As free(), but for who has another way: throws Error at once where the last request was not done in time.
    void try_to_free(std::uint32_t mkey);
    //! The key, which may lead somewhere if \p leads, leads where \p filling says when this returns. Throws Error if
    //! the adapter refuses; then it may lead somewhere still.
    void fill(const Filling& filling, bool leads);

  private:
    [[nodiscard]] verbs::VerbsQueuePair& queue_pair();
    [[nodiscard]] Error failure(std::uint32_t mkey, std::string why) const;
    void run_freeing(std::uint32_t mkey);
    void run(std::span<std::vector<std::byte>> requests, std::uint32_t mkey);

    //! As ibv_poll_cq() of one completion.
    [[nodiscard]] int wait(ibv_cq* queue, ibv_wc& completion) const;

    std::shared_ptr<verbs::Pd> pd_;
    std::chrono::milliseconds patience_;
    std::mutex mutex_;
    std::unique_ptr<verbs::VerbsQueuePair> queue_pair_;
    bool was_late_ = false; //!< The last request.
};

} // namespace mrz::mlx5
