// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! A wire as the engine uses it: what queue pairs are connected over.
#pragma once

#include <hca/request.hpp>
#include <hca/scratch.hpp>
#include <hca/wire.hpp>

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mrz::hca {

//! What went over a link since it was made; bytes are those of payload.
struct LinkCounters {
    std::uint64_t packets_sent = 0;
    std::uint64_t bytes_sent = 0;
    std::uint64_t packets_received = 0;
    std::uint64_t bytes_received = 0;
};

//! Any number of queue pairs may be connected over a link. It has no thread: its work is done by whoever calls
//! Hca::progress(link), which any thread may do at any time.
//!
//! Somebody has to, for as long as the link is open. Either one thread does nothing else (asks sleep(), and while it
//! sleeps polls the wire's descriptors), or threads that poll completions come by often enough: they say attend(),
//! and as long as the link is attended the peer wakes nobody.
class Link {
  public:
    //! \p wake is called, from any thread, when something was left to be done that no descriptor tells of. Locks of
    //! the engine may be held then: it must not call the engine.
    explicit Link(std::unique_ptr<Wire> wire, std::function<void()> wake = {});
    Link(const Link&) = delete;
    Link& operator=(const Link&) = delete;
    ~Link();

    [[nodiscard]] int socket() const noexcept { return wire_->socket(); }
    [[nodiscard]] int process() const noexcept { return wire_->process(); }

    //! False once it has ended: then every queue pair that was connected over it has failed, or will as soon as
    //! Hca::progress() is called (but see HcaOptions::idle_outlive_links).
    [[nodiscard]] bool open() const noexcept { return phase_.load(std::memory_order_acquire) == Phase::open; }
    //! False once all that its end brings has been done, or is being done by who is at it: nobody need look after it
    //! any more.
    [[nodiscard]] bool ended() const noexcept { return phase_.load(std::memory_order_acquire) == Phase::ended; }
    //! Why it ended; empty while it is open, or if nobody said.
    [[nodiscard]] std::string why() const;
    [[nodiscard]] LinkCounters counters() const noexcept;

    //! Reads what the socket has to tell; to be called by one thread at a time.
    void hear();
    //! The peer's process has ended.
    void lost();
    //! Ends it from this side. The peer is told \p why.
    void close(std::string_view why = {});

    //! Prepares for sleep: from now on the peer wakes. False if there is something to be done now.
    [[nodiscard]] bool sleep();
    //! From a thread that polls again and again. Once it has done so often enough the link is attended.
    void attend();
    [[nodiscard]] bool attended() const noexcept { return attended_.load(std::memory_order_relaxed); }
    //! How often attend() was called: stands still when nobody polls any more.
    [[nodiscard]] std::uint64_t polls() const noexcept { return polls_.load(std::memory_order_relaxed); }
    //! The link is looked after by whoever calls sleep().
    void unattend() noexcept { attended_.store(false); }

  private:
    friend class Hca;
    friend class LinkResponder;
    friend class Traffic;

    enum class Phase : std::uint8_t { open, ending, ended };
    //! A refusal that no queue pair keeps.
    struct Stray {
        std::uint32_t sequence;
        std::uint32_t attempt;
        Answer answer;
        std::uint8_t rnr_timer;
    };
    //! As many as a peer has queue pairs at most: whose refusal is forgotten would wait for ever.
    static constexpr std::size_t most_strays = 1U << 16;

    //! Writes a packet, with its \p payload. False if there is no room for it now. Takes the transmit lock.
    [[nodiscard]] bool write(const Packet& packet, std::span<const Piece> payload);
    //! Asks whoever works for the link to let \p qpn go on when there is room.
    void wait_for_room(std::uint32_t qpn);
    //! Asks for news of room. False if there is some now. The transmit lock is held.
    [[nodiscard]] bool arm_room();
    //! Asks whoever works for the link to look at \p qpn.
    void want_attention(std::uint32_t qpn);
    //! The peer has written nonsense where it says what it has read.
    [[nodiscard]] bool is_broken();
    //! Something is left to do, for whoever looks after the link.
    void leave_work();
    void call_keeper();
    void end(std::string_view why, bool tell_peer);

    std::unique_ptr<Wire> wire_;
    const std::function<void()> wake_;
    std::atomic<Phase> phase_ = Phase::open;

    std::atomic<bool> busy_ = false;  //!< Held by whoever does its work; taken without waiting.
    std::atomic<bool> again_ = false; //!< Somebody came while it was held.
    // Used by who is busy with it.
    Scratch scratch_;
    std::vector<std::uint32_t> answering_; //!< Queue pairs that have something to answer.
    std::vector<std::uint32_t> resting_;   //!< Taken out of blocked_ or attention_, being handled.
    int last_turns_ = 0;                   //!< Since it is ending.

    std::mutex transmit_; //!< Guards the outgoing ring and what follows.
    std::vector<std::uint32_t> blocked_;

    mutable std::mutex attention_mutex_; //!< Guards the next three.
    std::vector<std::uint32_t> attention_;
    std::map<std::pair<std::uint32_t, std::uint32_t>, Stray> strays_; //!< By source and destination.
    std::string why_;

    std::atomic<bool> unfinished_ = false;     //!< Work was left that no descriptor tells of.
    std::atomic<bool> waits_for_room_ = false; //!< Something could not be written.
    std::atomic<bool> deaf_ = false;           //!< What comes in is not looked at any more.
    std::atomic<bool> attended_ = false;
    std::atomic<std::uint32_t> recent_polls_ = 0;
    std::atomic<std::uint64_t> packets_sent_ = 0;
    std::atomic<std::uint64_t> bytes_sent_ = 0;
    std::atomic<std::uint64_t> packets_received_ = 0;
    std::atomic<std::uint64_t> bytes_received_ = 0;
    alignas(64) std::atomic<std::uint64_t> polls_ = 0;
};

} // namespace mrz::hca
