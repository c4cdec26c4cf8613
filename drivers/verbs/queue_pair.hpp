// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! A reliable connected queue pair of libibverbs.
#pragma once

#include "context.hpp"
#include "path.hpp"

#include <mrzone/device.hpp>

#include <infiniband/verbs.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

namespace mrz::verbs {

//! What every queue pair of this driver that has a peer lets it do, as far as keys allow.
inline constexpr unsigned peer_access = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;
//! How long until a packet is sent again: 4.096 us * 2^14, 67 ms.
inline constexpr std::uint8_t retransmit_after = 14;
//! How long a sender is to wait when there is no receive: the shortest that there is, 0.01 ms. (0 would be 655 ms.)
inline constexpr std::uint8_t receiver_not_ready = 1;
//! Reads and atomic operations of a queue pair that are under way at a time, where device and peer stand them.
inline constexpr std::uint8_t most_reads = 16;
//! \p wanted, or what a device reports that it stands.
constexpr std::uint8_t at_most(int limit, std::uint8_t wanted) noexcept
{
    return static_cast<std::uint8_t>(std::clamp<int>(limit, 0, wanted));
}

//! Requests of one queue: what they are called, and how many may still be posted. One thread posts, another polls.
class Outstanding {
  public:
    explicit Outstanding(std::uint32_t most) : ids_(most) {}

    [[nodiscard]] std::uint64_t most() const noexcept { return ids_.size(); }
    [[nodiscard]] bool full() const noexcept
    {
        return posted_.load(std::memory_order_relaxed) - retired_.load(std::memory_order_acquire) >= most();
    }
    //! The number of the next request, which is called \p id, if it is posted. Not if full.
    std::uint64_t next(std::uint64_t id) noexcept
    {
        const std::uint64_t number = posted_.load(std::memory_order_relaxed);
        ids_[number % ids_.size()].store(id, std::memory_order_relaxed);
        return number;
    }
    void posted() noexcept { posted_.fetch_add(1, std::memory_order_release); }
    //! Request \p number has completed, and so have all before it. Returns what it is called.
    std::uint64_t retire(std::uint64_t number) noexcept
    {
        const std::uint64_t id = ids_[number % ids_.size()].load(std::memory_order_relaxed);
        retired_.store(number + 1, std::memory_order_release);
        return id;
    }

  private:
    std::vector<std::atomic<std::uint64_t>> ids_;
    std::atomic<std::uint64_t> posted_ = 0;
    std::atomic<std::uint64_t> retired_ = 0;
};

class VerbsQueuePair final : public QueuePair {
  public:
    //! Makes one as ibv_create_qp_ex does: a provider may have others.
    using Maker = ibv_qp* (*)(ibv_context*, ibv_qp_init_attr_ex*);
    //! Is in RESET afterwards; throws Error with the cause.
    VerbsQueuePair(std::shared_ptr<Pd> pd, const QueuePairOptions& options, Maker maker = ::ibv_create_qp_ex);
    VerbsQueuePair(const VerbsQueuePair&) = delete;
    VerbsQueuePair& operator=(const VerbsQueuePair&) = delete;
    ~VerbsQueuePair() override;

    //! From RESET to INIT at a port of its own choice, so that connect() can follow. \p access is what its peer may
    //! do.
    void initialize(unsigned access = peer_access);
    [[nodiscard]] Endpoint local() const override;
    void connect(const Endpoint& remote) override;
    void post_send(const SendRequest& request) override;
    void post_receive(const ReceiveRequest& request) override;
    std::size_t poll(std::span<Completion> completions) override;
    void fail() override;

    // ---- For connections, which know how it is reached

    [[nodiscard]] ibv_qp* get() const noexcept { return queue_pair_; }
    [[nodiscard]] const QueuePairOptions& options() const noexcept { return options_; }
    //! Throws Error with the cause; \p doing is "connecting" and the like.
    void modify(ibv_qp_attr& attributes, int mask, std::string_view doing);
    //! Whether it may be posted to, which begins when it is in RTS.
    void is_ready() noexcept { state_ = State::ready; }
    //! \p look is called now and then while there is nothing to poll.
    void set_idle(std::function<void()> look) { idle_ = std::move(look); }
    //! Whether a request was tried as often as it may be, in vain.
    [[nodiscard]] bool lost_its_peer() const noexcept { return lost_.load(); }

  private:
    enum class State { fresh, ready, failed };
    class Sges;

    void post_by_builder(const SendRequest& request, std::uint64_t number, const Sges& sges);
    void post_by_list(const SendRequest& request, std::uint64_t number, Sges& sges);
    void check_size(std::span<const Segment> segments, const char* what) const;
    [[nodiscard]] Completion translate(const ibv_wc& from) noexcept;
    void destroy() noexcept;

    std::shared_ptr<Pd> pd_;
    const QueuePairOptions options_;
    Outstanding sends_;
    Outstanding receives_;
    ibv_cq* queue_ = nullptr; // one for both sides, so that completions come in order
    ibv_qp* queue_pair_ = nullptr;
    ibv_qp_ex* builder_ = nullptr; // none where the provider has no ibv_wr_*
    Port port_ = {};
    std::uint32_t psn_ = 0;
    std::mutex connecting_;
    std::atomic<State> state_ = State::fresh;
    std::atomic<bool> lost_ = false;
    std::function<void()> idle_;
    std::chrono::steady_clock::time_point idle_at_ = {};
};

} // namespace mrz::verbs
