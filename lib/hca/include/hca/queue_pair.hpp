// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Queue pairs: their kinds, states and attributes.
#pragma once

#include <hca/completion_queue.hpp>
#include <hca/mkey.hpp>
#include <hca/queue.hpp>
#include <hca/scratch.hpp>
#include <hca/shared_receive_queue.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>

namespace mrz::hca {

//! Reliable connection, or unreliable datagram.
enum class QpType : std::uint8_t { rc, ud };
std::string_view to_string(QpType type) noexcept;

//! As ibv_qp_state.
enum class QpState : std::uint8_t { reset = 0, init = 1, rtr = 2, rts = 3, sqd = 4, sqe = 5, err = 6 };
std::string_view to_string(QpState state) noexcept;

struct QpOptions {
    QpType type = QpType::rc;
    Pd pd = {};
    std::shared_ptr<CompletionQueue> send_cq;
    std::shared_ptr<CompletionQueue> receive_cq;  //!< May be the same.
    std::shared_ptr<SharedReceiveQueue> srq = {}; //!< Takes the place of its own receive queue.
    QueueLimits send = {};
    QueueLimits receive = {};
    bool signal_all = false; //!< Every send makes a completion.
};

//! What modifying sets: exactly the members with a value. What a transition needs and what it allows is the kernel's
//! table (drivers/infiniband/core/verbs.c, qp_state_table) without ports, paths and migration. Numbers as in
//! ibv_qp_attr.
struct QpAttributes {
    std::optional<KeyRights> access = {};                //!< RC: what peers may do through it; remote rights only.
    std::optional<std::uint32_t> qkey = {};              //!< UD.
    std::optional<std::uint32_t> path_mtu = {};          //!< RC: bytes, 256 to 4096.
    std::optional<std::uint32_t> destination_qpn = {};   //!< RC: the peer, in this engine.
    std::optional<std::uint32_t> receive_psn = {};       //!< Only kept: no packet is numbered here.
    std::optional<std::uint32_t> send_psn = {};          //!< Only kept.
    std::optional<std::uint8_t> max_dest_rd_atomic = {}; //!< RC: with 0 it answers no reads and atomics.
    std::optional<std::uint8_t> max_rd_atomic = {};      //!< Only kept.
    std::optional<std::uint8_t> min_rnr_timer =
        {};                                   //!< 0 to 31: how long a peer waits for a receive, see rnr_delay().
    std::optional<std::uint8_t> timeout = {}; //!< 0 to 31: see answer_timeout().
    std::optional<std::uint8_t> retry_count =
        {};                                     //!< 0 to 7: tries more while the peer is not ready to receive at all.
    std::optional<std::uint8_t> rnr_retry = {}; //!< 0 to 6: tries more while it lacks a receive; 7: for ever.
    std::optional<bool> sq_drained_event = {};  //!< To SQD: report sq_drained.
};

//! Throws Error, EINVAL, naming the transition and what is missing, too much or out of range.
void check_transition(QpType type, QpState from, QpState to, const QpAttributes& attributes);

//! The time that a min_rnr_timer means: 0.01 to 655.36 ms (InfiniBand specification, volume 1, table "RNR NAK
//! timer").
std::chrono::microseconds rnr_delay(std::uint8_t timer) noexcept;
//! 4.096 us * 2^timeout; none for 0, which means for ever.
std::optional<std::chrono::nanoseconds> answer_timeout(std::uint8_t timeout) noexcept;

//! A queue pair. Everything is done through the engine; a destroyed one refuses posts.
class QueuePair {
  public:
    using Clock = std::chrono::steady_clock;

    QueuePair(std::uint32_t number, const QpOptions& options);
    QueuePair(const QueuePair&) = delete;
    QueuePair& operator=(const QueuePair&) = delete;

    [[nodiscard]] std::uint32_t number() const noexcept { return number_; }
    [[nodiscard]] QpType type() const noexcept { return options_.type; }
    [[nodiscard]] Pd pd() const noexcept { return options_.pd; }
    [[nodiscard]] const QpOptions& options() const noexcept { return options_; }
    //! Thread-safe; it may turn to SQE or ERR at any time.
    [[nodiscard]] QpState state() const noexcept { return state_.load(std::memory_order_acquire); }

  private:
    friend class Delivery;
    friend class Hca;
    friend class Requester;
    friend class Responder;
    friend class Traffic;

    enum class Waiting : std::uint8_t { no, for_receive, for_peer };
    struct Stall {
        Waiting waiting = Waiting::no;
        Clock::time_point until = {};
        unsigned tries_left = 0;
    };

    //! Moves to \p state unless it is in ERR, or was reset, by now. Whether it did.
    bool fail(QpState state) noexcept;
    [[nodiscard]] ReceiveQueue& receives() noexcept { return options_.srq ? options_.srq->queue() : receive_queue_; }
    [[nodiscard]] Pd receive_pd() const noexcept { return options_.srq ? options_.srq->pd() : options_.pd; }

    const std::uint32_t number_;
    const QpOptions options_;
    std::atomic<QpState> state_ = QpState::reset;
    QpAttributes attributes_; // changed under the exclusive access lock only

    std::mutex send_mutex_; // guards the next three
    SendQueue send_queue_;
    Stall stall_;
    Scratch scratch_;

    std::mutex inbound_mutex_; // guards the next two
    ReceiveWork inbound_work_;
    bool last_wqe_reported_ = false;

    ReceiveQueue receive_queue_; // unused where there is an srq
};

} // namespace mrz::hca
