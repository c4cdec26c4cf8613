// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Queue pairs: their kinds, states and attributes.
#pragma once

#include <hca/completion_queue.hpp>
#include <hca/link.hpp>
#include <hca/mkey.hpp>
#include <hca/queue.hpp>
#include <hca/request.hpp>
#include <hca/scratch.hpp>
#include <hca/shared_receive_queue.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

namespace mrz::hca {

//! Reliable connection, or unreliable datagram.
enum class QpType : std::uint8_t { rc, ud };
std::string_view to_string(QpType type) noexcept;

//! As ibv_qp_state.
enum class QpState : std::uint8_t { reset = 0, init = 1, rtr = 2, rts = 3, sqd = 4, sqe = 5, err = 6 };
std::string_view to_string(QpState state) noexcept;

//! Which queue pair of a port is asked about all else than its subnet, as for connections (InfiniBand specification,
//! volume 1, chapter 13.5: the general services interface).
constexpr std::uint32_t general_services_qpn = 1;

struct QpOptions {
    QpType type = QpType::rc;
    Pd pd = {};
    std::shared_ptr<CompletionQueue> send_cq;
    std::shared_ptr<CompletionQueue> receive_cq;  //!< May be the same.
    std::shared_ptr<SharedReceiveQueue> srq = {}; //!< Takes the place of its own receive queue.
    QueueLimits send = {};
    QueueLimits receive = {};
    std::shared_ptr<ReceiveSource> receive_source = {}; //!< Where its receives come from, if they are not posted.
    bool signal_all = false;                            //!< Every send makes a completion.
    bool privileged = false;                            //!< Its work may use keys that are (MkeySpec).
    bool general_services = false; //!< UD: it is the queue pair general_services_qpn, of which there is one.
};

//! What modifying sets: exactly the members with a value. What a transition needs and what it allows is the kernel's
//! table (drivers/infiniband/core/verbs.c, qp_state_table) without ports, paths and migration. Numbers as in
//! ibv_qp_attr.
struct QpAttributes {
    std::optional<KeyRights> access = {};                //!< RC: what peers may do through it; remote rights only.
    std::optional<std::uint32_t> qkey = {};              //!< UD.
    std::optional<std::uint32_t> path_mtu = {};          //!< RC: bytes, 256 to 4096.
    std::shared_ptr<Link> link = {};                     //!< RC: the way to the peer; none: it is in this engine.
    std::optional<std::uint32_t> destination_qpn = {};   //!< RC: the peer.
    std::optional<std::uint32_t> receive_psn = {};       //!< Over a link: the number of the first message,
    std::optional<std::uint32_t> send_psn = {};          //!< which is the peer's send_psn. Else only kept.
    std::optional<std::uint8_t> max_dest_rd_atomic = {}; //!< RC: with 0 it answers no reads and atomics; over a link,
                                                         //!< no more of them at once.
    std::optional<std::uint8_t> max_rd_atomic = {};      //!< Over a link: how many it asks for at once, at least 1.
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
    friend class LinkResponder;
    friend class Requester;
    friend class Responder;
    friend class Traffic;

    enum class Waiting : std::uint8_t { no, for_receive, for_peer };
    struct Stall {
        Waiting waiting = Waiting::no;
        Clock::time_point until = {};
        unsigned tries_left = 0;
    };
    //! What it has asked of its peer over a link.
    struct Asked {
        std::uint32_t first = 0;              //!< The number of the oldest work in the send queue.
        std::uint32_t sent = 0;               //!< Works from there on that were sent as a whole, and not answered.
        std::uint64_t offset = 0;             //!< Bytes sent of the work after these.
        std::uint32_t attempt = 0;            //!< How often it went back.
        std::uint32_t reads = 0;              //!< Reads and atomics among those sent.
        std::uint64_t received = 0;           //!< Bytes of the oldest work, a read.
        std::optional<WcStatus> failure = {}; //!< Of the work after those sent: it fails when it is the oldest.
        bool paused = false;                  //!< Waits, as stall_ says, to go on sending.
        bool early = false;   //!< Went on before its time: being refused again does not count as a try.
        bool blocked = false; //!< Is among those that the link lets go on when there is room.
        bool report_drained = false;
    };
    //! What its peer asks of it over a link.
    struct Served {
        //! A read or atomic that is to be answered.
        struct Due {
            Request request;
            std::uint32_t sequence;
            std::uint64_t done;     //!< Bytes sent of a read.
            std::uint64_t original; //!< Of an atomic.
        };
        struct Refusal {
            Answer answer;
            std::uint8_t rnr_timer;
            std::uint32_t sequence;
            std::uint32_t attempt;
        };
        std::uint32_t expected = 0; //!< The number of the next message, or of the one that is coming in.
        std::uint32_t told = 0;     //!< All before are answered.
        bool in_message = false;
        Request message;      //!< With in_message: what it is, and where the next part begins.
        std::vector<Due> due; //!< Oldest first.
        std::optional<Refusal> refusal;
        bool refused = false;                   //!< For good: nothing more is taken.
        std::optional<std::uint32_t> went_back; //!< The attempt that was refused last: the rest of it is dropped.
        bool receive_ready = false;
        bool listed = false; //!< Is among those that the link lets answer.
    };

    //! Moves to \p state unless it is in ERR, or was reset, by now. Whether it did.
    bool fail(QpState state) noexcept;
    [[nodiscard]] ReceiveQueue& receives() noexcept { return options_.srq ? options_.srq->queue() : receive_queue_; }
    [[nodiscard]] Pd receive_pd() const noexcept { return options_.srq ? options_.srq->pd() : options_.pd; }

    const std::uint32_t number_;
    const QpOptions options_;
    std::atomic<QpState> state_ = QpState::reset;
    QpAttributes attributes_; // changed under the exclusive access lock only

    std::mutex send_mutex_; // guards the next four
    SendQueue send_queue_;
    Stall stall_;
    Asked asked_;
    Scratch scratch_;

    // Used by who is busy with its link and holds the access lock; and by commands.
    Served served_;
    std::atomic<bool> starved_ = false;       // its peer, over a link, was refused for want of a receive,
    std::atomic<bool> receive_ready_ = false; // and is to be told that there is one

    std::mutex inbound_mutex_; // guards the next three
    ReceiveWork inbound_work_;
    bool inbound_held_ = false; // it is for a message that is coming in
    bool last_wqe_reported_ = false;

    ReceiveQueue receive_queue_; // unused where there is an srq
};

} // namespace mrz::hca
