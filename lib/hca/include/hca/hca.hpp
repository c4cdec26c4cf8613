// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! An RDMA adapter in software: the engine under the drivers and programs that show it as a device.
#pragma once

#include <hca/bus.hpp>
#include <hca/cache.hpp>
#include <hca/completion_queue.hpp>
#include <hca/key_table.hpp>
#include <hca/link.hpp>
#include <hca/queue_pair.hpp>
#include <hca/shared_receive_queue.hpp>
#include <hca/status.hpp>
#include <hca/work.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>

namespace mrz::hca {

struct HcaOptions {
    KeyLimits keys = {};
    CacheGeometry mpt_cache = {};
    CacheGeometry mtt_cache = {};
    std::uint32_t max_pds = 1U << 16;
    std::uint32_t max_cqs = 1U << 16;
    std::uint32_t max_qps = 1U << 16;
    std::uint32_t max_srqs = 1U << 16;
    std::uint32_t max_completions = 1U << 22;  //!< Of one completion queue.
    QueueLimits queues = {1U << 15, 64, 1024}; //!< The most that a queue may be made with.
    std::uint64_t max_message = 1ULL << 31;    //!< Bytes; at most 2^31.
    std::uint32_t mtu = 4096;                  //!< Bytes: the most that a datagram carries.
    //! Whether queue pairs stay as they are that ask nothing of their peer when the link to it ends: as on a network,
    //! their next request fails. Else they fail at once, and what waits for the peer ends.
    bool idle_outlive_links = false;
    //! Told what no completion tells, on the thread that caused it, without any lock held: it may call the engine.
    std::function<void(const Event&)> on_event = {};
    //! The clock of retries; tests set their own.
    std::function<QueuePair::Clock::time_point()> now = QueuePair::Clock::now;
};

//! A snapshot of what was done since the engine was made.
struct HcaCounters {
    std::array<std::uint64_t, 7> operations{}; //!< Done with success, by SendOpcode.
    std::uint64_t bytes = 0;                   //!< Moved by them.
    std::array<std::uint64_t, 22> failures{};  //!< Completions in error, by WcStatus, flushes included.
    std::uint64_t receiver_not_ready = 0;      //!< Times that a send found no receive.
    std::uint64_t datagrams_dropped = 0;
    CacheCounts mpt_cache;
    CacheCounts mtt_cache;
    std::size_t keys = 0;           //!< Now.
    std::uint64_t translations = 0; //!< Now: table entries of all keys.
};

//! The adapter.
//!
//! No hidden threads: a work request is carried out by the thread that posts it. Work that waits, for a receive of
//! its peer or for a peer that is not ready, goes on when a receive is posted, when a queue pair is modified, and, as
//! its timer says, in poll() and progress(). Work for a peer in another engine is sent as far as the link has room,
//! and goes on in progress(link): see Link.
//!
//! Thread-safe. Posting and polling throw nothing but std::bad_alloc; commands throw Error: EINVAL for a request that
//! makes no sense, ENOMEM where a limit is reached, EBUSY for an object that others use, ENOENT for one that is not
//! of this engine or gone. Each command returns when no operation in flight uses what it changed.
class Hca {
  public:
    //! \p bus outlives the engine.
    explicit Hca(Bus& bus, HcaOptions options = {});
    ~Hca();
    Hca(const Hca&) = delete;
    Hca& operator=(const Hca&) = delete;

    [[nodiscard]] const HcaOptions& options() const noexcept;

    [[nodiscard]] Pd alloc_pd();
    void dealloc_pd(Pd pd);

    //! As KeyTable's functions of these names.
    [[nodiscard]] Mkey create_mkey(MkeySpec spec);
    [[nodiscard]] Mkey create_free_mkey(Pd pd, std::optional<std::uint8_t> variant = {});
    void destroy_mkey(Mkey key);
    [[nodiscard]] Mkey reissue_mkey(Mkey key, std::optional<std::uint8_t> variant = {});
    void invalidate_mkey(Mkey key);
    Mkey fill_mkey(Mkey key, MkeySpec spec);
    [[nodiscard]] MkeyInfo query_mkey(Mkey key) const;

    [[nodiscard]] std::shared_ptr<CompletionQueue> create_cq(CqOptions options);
    void destroy_cq(const std::shared_ptr<CompletionQueue>& cq);
    [[nodiscard]] std::shared_ptr<SharedReceiveQueue> create_srq(const SrqOptions& options);
    void destroy_srq(const std::shared_ptr<SharedReceiveQueue>& srq);
    [[nodiscard]] std::shared_ptr<QueuePair> create_qp(const QpOptions& options);
    //! Its work is forgotten; its completions leave their queues.
    void destroy_qp(const std::shared_ptr<QueuePair>& qp);

    //! Moves a queue pair to another state, or sets attributes in the same. To RESET forgets its work, completions
    //! and attributes; to ERR flushes its work before it returns.
    void modify_qp(QueuePair& qp, QpState to, const QpAttributes& attributes = {});
    [[nodiscard]] QpAttributes query_qp(const QueuePair& qp) const;

    //! Returns 0 or an errno as ibv_post_send does: EINVAL (state, opcode, flags, too many sges, too many inline
    //! bytes), ENOMEM (the queue is full).
    [[nodiscard]] int post_send(QueuePair& qp, const SendWorkRequest& request);
    //! Returns 0 or an errno: EINVAL (state, too many sges, there is a shared queue, or the shared queue was
    //! destroyed), ENOMEM (the queue is full).
    [[nodiscard]] int post_receive(QueuePair& qp, const ReceiveWorkRequest& request);
    [[nodiscard]] int post_receive(SharedReceiveQueue& srq, const ReceiveWorkRequest& request);
    //! Its source has receives that it had not before. Who waits for one gets it at once instead of when his timer
    //! says so, or over a link perhaps never; in ERR they are flushed.
    void receives_added(QueuePair& qp);
    void receives_added(SharedReceiveQueue& srq);
    //! Copies what a local key shows, as a send request would read it: for what the adapter itself wants to know.
    //! \p privileged: as QpOptions::privileged.
    [[nodiscard]] WcStatus read_local(Pd pd, const Sge& from, std::span<std::byte> into,
                                      bool privileged = false) const;
    //! Lets waiting work go on whose time has come, then takes completions.
    std::size_t poll(CompletionQueue& cq, std::span<Completion> completions);
    //! Lets waiting work go on whose time has come.
    void progress();
    //! When progress() has something to do next; none if nothing waits for a timer. For callers that sleep.
    [[nodiscard]] std::optional<QueuePair::Clock::time_point> next_deadline() const;
    //! The same, of queue pairs that are connected over links.
    [[nodiscard]] std::optional<QueuePair::Clock::time_point> next_link_deadline() const;
    //! Does some of what there is to do for a link: takes what has come in, sends what waits for room. Never blocks.
    //! Returns whether there was anything. \p keeper: the caller looks after the link, and comes again before it
    //! sleeps.
    bool progress(Link& link, bool keeper = false);

    //! While it lives no operation is in flight and none begins: for whoever takes memory from the bus. Do not call
    //! the engine meanwhile.
    class Pause {
      public:
        explicit Pause(Hca& hca);
        ~Pause();
        Pause(const Pause&) = delete;
        Pause& operator=(const Pause&) = delete;

      private:
        Hca& hca_;
    };
    [[nodiscard]] Pause pause() { return Pause{*this}; }

    [[nodiscard]] HcaCounters counters() const;

  private:
    struct Parts;
    void reset(QueuePair& qp);

    std::unique_ptr<Parts> parts_;
};

} // namespace mrz::hca
