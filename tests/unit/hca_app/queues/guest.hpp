// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! A made-up guest: its memory, and rings in it as a driver lays them out.
#pragma once

#include "dma/dma.hpp"
#include "layouts/doorbells.hpp"
#include "layouts/wqe.hpp"
#include "queues/data_path.hpp"
#include "vfio_user/interrupts.hpp"

#include <hca/hca.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace mrz::queues {

using Bytes = std::vector<std::byte>;

//! Memory from address 0 on; what is taken from it is never given back.
class GuestMemory final : public dma::Bus {
  public:
    explicit GuestMemory(std::size_t bytes = 1U << 20) : words_(bytes / 8) {}

    std::span<std::byte> memory(DmaAddress at, std::uint64_t length, hca::Direction) noexcept override
    {
        const std::span<std::byte> all = std::as_writable_bytes(std::span{words_});
        if (at.value() >= all.size() || in_hole(at.value()))
            return {};
        return all.subspan(at.value(), std::min<std::uint64_t>(length, all.size() - at.value()));
    }
    //! Pages that are in use by nobody else.
    std::uint64_t take(std::size_t bytes)
    {
        const std::uint64_t at = next_;
        next_ += (bytes + 4095) / 4096 * 4096;
        if (next_ > words_.size() * 8)
            throw std::bad_alloc{};
        return at;
    }
    //! Nothing answers from here to there any more.
    void punch(std::uint64_t from, std::uint64_t to) { hole_ = {from, to}; }

    std::span<std::byte> at(std::uint64_t address, std::size_t bytes)
    {
        return std::as_writable_bytes(std::span{words_}).subspan(address, bytes);
    }
    void put32(std::uint64_t address, std::uint32_t value) { layouts::set(at(address, 4), {0, 32}, value); }
    [[nodiscard]] std::uint32_t get32(std::uint64_t address)
    {
        return static_cast<std::uint32_t>(layouts::get(at(address, 4), {0, 32}));
    }

  private:
    [[nodiscard]] bool in_hole(std::uint64_t address) const
    {
        return address >= hole_.first && address < hole_.second;
    }

    std::vector<std::uint64_t> words_;
    std::uint64_t next_ = 4096;
    std::pair<std::uint64_t, std::uint64_t> hole_{0, 0};
};

inline dma::PageList pages_of(std::uint64_t at, std::size_t bytes)
{
    std::vector<DmaAddress> pages;
    for (std::uint64_t page = at & ~std::uint64_t{4095}; page < at + bytes; page += 4096)
        pages.emplace_back(page);
    return {std::move(pages), 12, at & 4095};
}

class CountedInterrupts final : public vfio_user::Interrupts {
  public:
    void raise(unsigned vector) noexcept override { ++raised.at(vector); }
    std::array<unsigned, 8> raised{};
};

//! A driver's side of an event queue.
class DriverEq {
  public:
    DriverEq(GuestMemory& memory, vfio_user::Interrupts& interrupts, EventQueues& queues, std::uint32_t number,
             unsigned log_size, EventMask events, unsigned vector = 0)
        : memory_{memory}, log_size_{log_size}, at_{memory.take(std::size_t{64} << log_size)}
    {
        // As init_eq_buf() of the kernel does it.
        for (std::uint64_t i = 0; i < (1U << log_size_); ++i)
            memory_.at(at_ + 64 * i + 63, 1)[0] = std::byte{1};
        EventQueueOptions options;
        options.number = number;
        options.vector = vector;
        options.uar = uar;
        options.log_size = log_size_;
        options.pages = pages_of(at_, std::size_t{64} << log_size_);
        options.events = events;
        queue = std::make_shared<EventQueue>(memory, interrupts, std::move(options));
        queues.add(queue);
    }

    //! The next event, if it is the driver's by its owner bit.
    std::optional<Bytes> next()
    {
        const auto entry = memory_.at(at_ + 64 * (consumer_ & ((1U << log_size_) - 1)), 64);
        if ((std::to_integer<unsigned>(entry[63]) & 1) != (consumer_ >> log_size_ & 1))
            return std::nullopt;
        ++consumer_;
        return Bytes(entry.begin(), entry.end());
    }
    void consumed(bool arm) { queue->consumed(consumer_ & 0xffffff, arm); }

    static constexpr std::uint32_t uar = 300;
    std::shared_ptr<EventQueue> queue;

  private:
    GuestMemory& memory_;
    unsigned log_size_;
    std::uint64_t at_;
    std::uint32_t consumer_ = 0;
};

//! A driver's side of a completion queue.
class DriverCq {
  public:
    DriverCq(GuestMemory& memory, unsigned log_size, unsigned log_entry = 6)
        : memory_{memory}, record{memory.take(64)}
    {
        move_to(log_size, log_entry);
    }
    //! Takes memory for a ring, all of whose entries are the adapter's.
    CompletionMemory move_to(unsigned log_size, unsigned log_entry = 6)
    {
        log_size_ = log_size;
        log_entry_ = log_entry;
        const std::size_t bytes = std::size_t{1} << (log_size_ + log_entry_);
        at_ = memory_.take(bytes);
        // As init_cq_frag_buf() of the kernel: of opcode invalid.
        for (std::uint64_t end = std::uint64_t{1} << log_entry_; end <= bytes; end += std::uint64_t{1} << log_entry_)
            memory_.at(at_ + end - 1, 1)[0] = std::byte{0xf1};
        return {pages_of(at_, bytes), log_size_, log_entry_};
    }
    CompletionRingOptions options(std::shared_ptr<EventQueue> eq)
    {
        CompletionRingOptions options;
        options.memory = {pages_of(at_, std::size_t{1} << (log_size_ + log_entry_)), log_size_, log_entry_};
        options.record = DmaAddress{record};
        options.uar = uar;
        options.eq = std::move(eq);
        return options;
    }

    //! The next completion, as mlx5's get_sw_cqe() finds it.
    std::optional<Bytes> next()
    {
        const std::optional<Bytes> entry = peek(consumer);
        if (entry) {
            ++consumer;
            memory_.put32(record, consumer & 0xffffff);
        }
        return entry;
    }
    std::optional<Bytes> peek(std::uint32_t index)
    {
        const std::uint32_t size = 1U << log_size_;
        const std::uint64_t end = (std::uint64_t{index & (size - 1)} + 1) << log_entry_;
        const auto entry = memory_.at(at_ + end - 64, 64);
        const auto own = std::to_integer<unsigned>(entry[63]);
        if (own >> 4 == 0xf || (own & 1) != ((index & size) != 0))
            return std::nullopt;
        return Bytes(entry.begin(), entry.end());
    }

    static constexpr std::uint32_t uar = 301;

  private:
    GuestMemory& memory_;
    unsigned log_size_ = 0;
    unsigned log_entry_ = 6;
    std::uint64_t at_ = 0;

  public:
    std::uint64_t record;
    std::uint32_t consumer = 0;
};

[[nodiscard]] inline std::uint64_t field(const Bytes& bytes, layouts::Field field)
{
    return layouts::get(bytes, field);
}

// ---- Entries as drivers write them --------------------------------------------------------------------------------

inline void append(Bytes& entry, std::initializer_list<std::pair<layouts::Field, std::uint64_t>> fields,
                   std::size_t bytes)
{
    Bytes segment(bytes);
    for (const auto& [where, value] : fields)
        layouts::set(segment, where, value);
    entry.insert(entry.end(), segment.begin(), segment.end());
}
inline void append_control(Bytes& entry, layouts::WqeOpcode opcode, bool signaled = true, std::uint32_t imm = 0,
                           unsigned flags = 0)
{
    namespace ctrl = layouts::wqe_ctrl_seg;
    append(entry,
           {{ctrl::opcode, static_cast<std::uint8_t>(opcode)},
            {ctrl::fm_ce_se, flags | (signaled ? 2U << 2 : 0U)},
            {ctrl::imm, imm}},
           ctrl::bytes);
}
inline void append_remote(Bytes& entry, std::uint64_t address, std::uint32_t rkey)
{
    append(entry, {{layouts::wqe_raddr_seg::raddr, address}, {layouts::wqe_raddr_seg::rkey, rkey}}, 16);
}
inline void append_piece(Bytes& entry, std::uint64_t address, std::uint32_t bytes, std::uint32_t lkey)
{
    namespace data = layouts::wqe_data_seg;
    append(entry, {{data::byte_count, bytes}, {data::lkey, lkey}, {data::addr, address}}, 16);
}
inline void append_inline(Bytes& entry, std::span<const std::byte> bytes)
{
    Bytes segment(4);
    layouts::set(segment, {0, 32}, 0x80000000U | bytes.size());
    segment.insert(segment.end(), bytes.begin(), bytes.end());
    segment.resize((segment.size() + 15) / 16 * 16);
    entry.insert(entry.end(), segment.begin(), segment.end());
}
//! The last thing: says how long it is.
inline Bytes ended(Bytes entry)
{
    layouts::set(entry, layouts::wqe_ctrl_seg::ds, entry.size() / 16);
    return entry;
}

//! A driver's side of a queue pair: the receive queue, then the send queue.
class DriverQp {
  public:
    DriverQp(GuestMemory& memory, unsigned log_sends, unsigned log_receives, unsigned log_stride = 6)
        : memory_{memory}, log_sends_{log_sends}, log_receives_{log_receives}, log_stride_{log_stride},
          receive_bytes_{std::size_t{1} << (log_receives + log_stride)}, at_{memory.take(bytes())}, record_{
                                                                                                        memory.take(
                                                                                                            64)}
    {
    }

    QueuePairOptions options(QpKind kind, hca::Pd pd, std::uint32_t cqn)
    {
        QueuePairOptions options;
        options.kind = kind;
        options.pd = pd;
        options.send_cq = cqn;
        options.receive_cq = cqn;
        options.receive = WorkRing{pages_of(at_, bytes()), 0, log_receives_, log_stride_, DmaAddress{record_}};
        options.send = WorkRing{pages_of(at_, bytes()), receive_bytes_, log_sends_, 6, DmaAddress{record_ + 4}};
        options.uar = uar;
        options.user_index = 0x1234;
        return options;
    }

    //! Puts an entry behind the others. Returns its index.
    std::uint16_t write(const Bytes& entry)
    {
        const std::uint16_t index = produced;
        const std::uint64_t ring = std::uint64_t{64} << log_sends_;
        for (std::size_t i = 0; i < entry.size(); ++i)
            memory_.at(at_ + receive_bytes_ + (std::uint64_t{index} * 64 + i) % ring, 1)[0] = entry[i];
        produced = static_cast<std::uint16_t>(produced + (entry.size() + 63) / 64);
        return index;
    }
    void tell_sends() { memory_.put32(record_ + 4, produced); }
    //! Writes a receive, and counts it.
    void receive(std::uint64_t address, std::uint32_t bytes, std::uint32_t lkey)
    {
        Bytes entry;
        append_piece(entry, address, bytes, lkey);
        append_piece(entry, 0, 0, layouts::terminate_scatter_list_key);
        const std::uint64_t slot = std::uint64_t{received} & ((1U << log_receives_) - 1);
        std::ranges::copy(entry, memory_.at(at_ + (slot << log_stride_), entry.size()).begin());
        ++received;
        memory_.put32(record_, received);
    }
    void say_receives(std::uint16_t count) { memory_.put32(record_, count); }
    void say_sends(std::uint16_t count) { memory_.put32(record_ + 4, count); }
    [[nodiscard]] std::uint64_t address() const { return at_; }
    [[nodiscard]] std::size_t bytes() const { return receive_bytes_ + (std::size_t{64} << log_sends_); }

    static constexpr std::uint32_t uar = 302;
    std::uint32_t number = 0;
    std::uint16_t produced = 0;
    std::uint16_t received = 0;

  private:
    GuestMemory& memory_;
    unsigned log_sends_;
    unsigned log_receives_;
    unsigned log_stride_;
    std::size_t receive_bytes_;
    std::uint64_t at_;
    std::uint64_t record_;
};

//! A device with an event queue and nothing else yet.
class DataPathTest : public ::testing::Test {
  protected:
    static constexpr EventMask every_event{~std::uint64_t{0}, 0, 0, 0};
    static constexpr std::size_t buffer_bytes = 16384;

    explicit DataPathTest(bool shared_clock = true)
        : engine{memory, engine_options(shared_clock)},
          path{{.engine = engine,
                .bus = memory,
                .event_queues = event_queues,
                .change_key = [this](const firmware::KeyChange& change) { change_key(change); },
                .inbox = inbox,
                .router =
                    [this](const PeerAddress& peer) {
                        return router ? router(peer) : Route{true, {}};
                    },
                .lid = 7,
                .gid = {std::byte{0xfe}, std::byte{0x80}},
                .now = [this] { return now; }}},
          eq{memory, interrupts, event_queues, 1, 6, every_event}, pd{engine.alloc_pd()}
    {
    }

    hca::HcaOptions engine_options(bool shared_clock)
    {
        hca::HcaOptions options;
        options.on_event = [this](const hca::Event& event) { inbox.happened(event); };
        if (shared_clock)
            options.now = [this] { return now; };
        return options;
    }
    virtual void change_key(const firmware::KeyChange&) {}

    //! Until there is nothing to do.
    void work()
    {
        for (int turns = 0; path.turn(); ++turns)
            ASSERT_LT(turns, 10000) << "it never comes to an end";
    }
    void pass(Clock::duration time)
    {
        now += time;
        work();
    }
    std::uint32_t make_cq(DriverCq& cq) { return path.create_cq(cq.options(eq.queue)); }
    //! A buffer, and a key to it with every right.
    std::uint32_t make_buffer(std::uint64_t& at, std::uint8_t first)
    {
        at = memory.take(buffer_bytes);
        for (std::size_t i = 0; i < buffer_bytes; ++i)
            memory.at(at + i, 1)[0] = static_cast<std::byte>(first + i * 3);
        hca::MkeySpec spec;
        spec.pd = pd;
        spec.rights = hca::KeyRights::local_read | hca::KeyRights::local_write | hca::KeyRights::remote_read |
                      hca::KeyRights::remote_write | hca::KeyRights::remote_atomic;
        spec.start = Iova{at};
        spec.length = buffer_bytes;
        for (std::uint64_t page = at; page < at + buffer_bytes; page += 4096)
            spec.pages.emplace_back(page);
        return engine.create_mkey(spec).value;
    }
    //! Both know of each other.
    void connect(std::uint32_t qpn, std::uint32_t peer, std::uint8_t rnr_retry = 7,
                 const std::shared_ptr<hca::Link>& link = {})
    {
        hca::QpAttributes init;
        init.access = hca::KeyRights::remote_read | hca::KeyRights::remote_write | hca::KeyRights::remote_atomic;
        path.modify_qp(qpn, hca::QpState::init, init);
        hca::QpAttributes rtr;
        rtr.path_mtu = 4096;
        rtr.link = link;
        rtr.destination_qpn = peer;
        rtr.receive_psn = 0;
        rtr.max_dest_rd_atomic = 16;
        rtr.min_rnr_timer = 12;
        path.modify_qp(qpn, hca::QpState::rtr, rtr);
        hca::QpAttributes rts;
        rts.timeout = 14;
        rts.retry_count = 7;
        rts.rnr_retry = rnr_retry;
        rts.send_psn = 0;
        rts.max_rd_atomic = 16;
        path.modify_qp(qpn, hca::QpState::rts, rts);
    }
    void ring(const DriverQp& qp, std::uint32_t uar = DriverQp::uar)
    {
        Bytes doorbell(8);
        layouts::set(doorbell, layouts::wqe_ctrl_seg::qpn, qp.number);
        path.ring(uar, layouts::uar_send, doorbell);
    }
    //! Writes, counts and rings.
    std::uint16_t post(DriverQp& qp, const Bytes& entry)
    {
        const std::uint16_t index = qp.write(entry);
        qp.tell_sends();
        ring(qp);
        return index;
    }
    void arm(const DriverCq& cq, std::uint32_t cqn, unsigned sequence, bool solicited = false)
    {
        Bytes doorbell(8);
        layouts::set(doorbell, layouts::cq_arm::sequence, sequence);
        layouts::set(doorbell, layouts::cq_arm::solicited, solicited);
        layouts::set(doorbell, layouts::cq_arm::consumer_index, cq.consumer);
        layouts::set(doorbell, layouts::cq_arm::cqn, cqn);
        path.ring(DriverCq::uar, layouts::uar_cq_arm, doorbell);
    }
    static layouts::CqeOpcode opcode(const Bytes& entry)
    {
        return static_cast<layouts::CqeOpcode>(field(entry, layouts::cqe64::opcode));
    }
    static layouts::CqeSyndrome syndrome(const Bytes& entry)
    {
        return static_cast<layouts::CqeSyndrome>(field(entry, layouts::err_cqe::syndrome));
    }
    static layouts::EventType type(const Bytes& event)
    {
        return static_cast<layouts::EventType>(field(event, layouts::eqe::type));
    }

    GuestMemory memory;
    CountedInterrupts interrupts;
    EventQueues event_queues;
    Inbox inbox;
    Router router;
    Clock::time_point now{std::chrono::hours{1}};
    hca::Hca engine;
    DataPath path;
    DriverEq eq;
    hca::Pd pd;
};

} // namespace mrz::queues
