// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! All queues of a device but its event queues: from the guest's rings to the engine and back.
#pragma once

#include "queues/completion_faults.hpp"
#include "queues/completion_ring.hpp"
#include "queues/event_queue.hpp"
#include "queues/fair_mutex.hpp"
#include "queues/inbox.hpp"
#include "queues/packet_queue.hpp"
#include "queues/peer_address.hpp"
#include "queues/queue_pair.hpp"
#include "queues/umr.hpp"

#include <hca/hca.hpp>

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace mrz::queues {

struct SharedReceiveOptions {
    hca::Pd pd = {};
    WorkRing ring;
    std::uint16_t limit = 0;
};

//! What others provide; it outlives the data path.
struct DataPathParts {
    hca::Hca& engine;
    dma::Bus& bus;
    const EventQueues& event_queues;
    //! As firmware::MemoryKeys::change().
    std::function<void(const firmware::KeyChange&)> change_key;
    //! The one that the engine's HcaOptions::on_event leaves events in.
    Inbox& inbox;
    Router router;
    //! This port's; an Ethernet port has none.
    std::uint16_t lid = 0;
    Gid gid = {};
    bool ethernet = false;
    std::function<Clock::time_point()> now = Clock::now;
};

//! Commands make and change queues; turn() does what there is to do for them, and belongs to one thread (DataThread).
//! Thread-safe. The lock is held during a turn, so that when a command returns nothing of what it took away is used,
//! and no completion of it is written any more; it waits for one turn at most, however much there is to do.
//!
//! Commands throw what the engine throws, and Error (invalid, EINVAL or ENOENT) of their own.
class DataPath {
  public:
    explicit DataPath(DataPathParts parts);
    //! Destroys what is left in the engine.
    ~DataPath();
    DataPath(const DataPath&) = delete;
    DataPath& operator=(const DataPath&) = delete;

    //! A write of the guest into page \p uar of user access, \p offset bytes into it. What is no doorbell does
    //! nothing.
    void ring(std::uint32_t uar, std::uint64_t offset, std::span<const std::byte> bytes);

    [[nodiscard]] std::uint32_t create_cq(CompletionRingOptions options);
    void destroy_cq(std::uint32_t cqn);
    //! Calls \p function with the ring, whose lock is held.
    void with_cq(std::uint32_t cqn, const std::function<void(CompletionRing&)>& function);
    void set_completion_fault(const CompletionFault& fault);
    struct FaultyCompletions {
        std::uint64_t lost;  //!< Ever.
        std::size_t waiting; //!< Now.
    };
    [[nodiscard]] FaultyCompletions faulty_completions() const;

    [[nodiscard]] std::uint32_t create_srq(const SharedReceiveOptions& options);
    void destroy_srq(std::uint32_t srqn);
    void arm_srq(std::uint32_t srqn, std::uint16_t limit);
    [[nodiscard]] std::shared_ptr<SharedReceiveRing> srq_ring(std::uint32_t srqn) const;

    [[nodiscard]] std::uint32_t create_qp(QueuePairOptions options);
    void destroy_qp(std::uint32_t qpn);
    //! As Hca::modify_qp(). A queue pair without a peer has states, and no attributes.
    void modify_qp(std::uint32_t qpn, hca::QpState to, const hca::QpAttributes& attributes);
    struct QpInfo {
        hca::QpState state;
        std::uint16_t sends_consumed;
        std::uint16_t receives_taken;
    };
    [[nodiscard]] QpInfo query_qp(std::uint32_t qpn) const;
    //! \p number is no queue pair's: doorbells are rung by number.
    void create_packet_queue(std::uint32_t number, PacketQueueOptions options);
    void destroy_packet_queue(std::uint32_t number);
    //! Any state; which may follow which is the commands' affair.
    void modify_packet_queue(std::uint32_t number, PacketQueueState to);
    struct PacketQueueInfo {
        PacketQueueState state;
        std::uint16_t consumed;
    };
    [[nodiscard]] PacketQueueInfo query_packet_queue(std::uint32_t number);
    //! Since the device was made.
    [[nodiscard]] std::uint64_t packets_dropped() const noexcept { return packets_dropped_.load(); }

    [[nodiscard]] Route route(const PeerAddress& peer) const
    {
        return parts_.router ? parts_.router(peer) : Route{true, {}};
    }

    //! Does some of what there is to do. Whether there is more.
    bool turn();
    //! When there is something to do next that nobody tells of.
    [[nodiscard]] std::optional<Clock::time_point> deadline() const;
    [[nodiscard]] Inbox& inbox() noexcept { return parts_.inbox; }

  private:
    struct CompletionQueue {
        std::shared_ptr<hca::CompletionQueue> engine;
        std::unique_ptr<CompletionRing> ring;
    };
    struct SharedReceives {
        std::shared_ptr<hca::SharedReceiveQueue> engine;
        std::shared_ptr<SharedReceiveRing> ring;
    };
    //! Receives are added without a word to anybody: who needs news of them looks, less and less often.
    struct Watch {
        Clock::time_point next;
        Clock::duration interval;
    };

    [[nodiscard]] CompletionQueue& cq(std::uint32_t cqn);
    [[nodiscard]] QueuePair& qp(std::uint32_t qpn);
    //! Of a queue that is sent from.
    [[nodiscard]] std::optional<std::uint32_t> uar_of(std::uint32_t number) const;
    void report(const hca::Event& event);
    //! Of a queue, of the kind that eqe_qp_srq::type says.
    void report(layouts::EventType type, std::uint32_t number, std::uint8_t kind);
    void report_cq_error(std::uint32_t cqn);
    void arm(const Rung& rung, const ArmRequest& request);
    void arm_all();
    void tell_what_was_held_back(Clock::time_point now);

    // data_path_completions.cpp:
    void drain(std::uint32_t cqn);
    void deliver(const hca::Completion& completion);
    void sent(QueuePair& qp, const hca::Completion& completion);
    void write(QueuePair& qp, std::uint32_t cqn, const Cqe& entry, bool solicited);
    void write_late(Clock::time_point now);
    //! Whether it is there.
    bool store(std::uint32_t cqn, const Cqe& entry, bool solicited);
    void store(QueuePair& qp, std::uint32_t cqn, const Cqe& entry, bool solicited);

    // data_path_sends.cpp:
    void pump(QueuePair& qp);
    [[nodiscard]] bool send_next(QueuePair& qp, std::uint16_t there);
    [[nodiscard]] bool post(QueuePair& qp, std::uint16_t entry);
    void finish(QueuePair& qp, std::uint16_t entry, std::optional<layouts::CqeSyndrome> failure);
    [[nodiscard]] bool read_translations(const QueuePair& qp, const hca::Sge& from, std::span<std::byte> into) const;
    [[nodiscard]] std::string change_key(const QueuePair& qp, std::span<const std::byte> entry) const;
    void fail(QueuePair& qp);

    // data_path_packets.cpp:
    [[nodiscard]] PacketQueue& packet_queue(std::uint32_t number);
    void pump(std::uint32_t number, PacketQueue& queue);
    void send_next(std::uint32_t number, PacketQueue& queue, std::uint16_t there);

    // data_path_watches.cpp:
    void watch(std::uint32_t qpn);
    void look_soon(std::uint32_t cqn);
    void look_at_starved();
    void look_at_watched(Clock::time_point now);
    static void look_later(Watch& watched, bool found, Clock::time_point now);

    const DataPathParts parts_;
    const hca::Pd own_pd_; //!< Of queue pairs that have none: those that change keys.
    mutable FairMutex mutex_;
    std::map<std::uint32_t, CompletionQueue> cqs_;
    std::map<std::uint32_t, SharedReceives> srqs_;
    std::map<std::uint32_t, std::unique_ptr<QueuePair>> qps_;
    std::map<std::uint32_t, PacketQueue> packet_queues_;
    std::atomic<std::uint64_t> packets_dropped_ = 0;
    std::set<std::uint32_t> again_;     // queue pairs, and queues of packets, to be pumped
    std::size_t links_ = 0;             // queue pairs that are connected over one
    std::set<std::uint32_t> held_back_; // completion queues with an event that is due later
    std::map<std::uint32_t, Watch> watched_;
    std::map<std::uint32_t, Watch> watched_srqs_;
    CompletionFaults faults_;
    std::vector<std::byte> entry_; // room that is used again
};

} // namespace mrz::queues
