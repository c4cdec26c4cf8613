// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! A peer that writes what it likes into the memory of a wire, packets and counts, for a connected queue pair and one
//! of datagrams: the engine goes on, memory that no key grants stays as it was, and every request ends at most once.
#include "input.hpp"

#include "../unit/hca/engine_attributes.hpp"
#include "../unit/hca/memory.hpp"

#include <hca/hca.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

using namespace mrz;
using namespace mrz::hca;
using mrz::fuzz::Input;

namespace {

constexpr std::uint64_t region_bytes = 3 * 4096;
constexpr std::uint64_t secret_at = 0x9'0000'0000;
constexpr std::uint32_t peer_qpn = 7;
constexpr std::uint32_t qkey = 0x1234;
constexpr std::size_t wire_bytes = 4096 + 2 * WireMemory::ring_bytes;

class Target {
  public:
    explicit Target(Input input) : input_{input}, hca_{memory_, options()}, pd_{hca_.alloc_pd()}
    {
        memory_.add(secret_at, 4096);
        std::ranges::fill(secret(), std::byte{0x5a});
        granted_ = Pages::make(memory_, 1ULL << 32, 12, 0x100, region_bytes, 1);
        own_ = Pages::make(memory_, 2ULL << 32, 12, 0x9000, region_bytes, 2);
        MkeySpec spec =
            granted_.spec(pd_, KeyRights::remote_read | KeyRights::remote_write | KeyRights::remote_atomic);
        spec.variant = 1;
        rkey_ = hca_.create_mkey(spec);
        spec = own_.spec(pd_, KeyRights::local_read | KeyRights::local_write);
        spec.variant = 2;
        lkey_ = hca_.create_mkey(spec);
        cq_ = hca_.create_cq({.capacity = 4096, .on_completion = {}});
        qp_ = hca_.create_qp({.type = QpType::rc,
                              .pd = pd_,
                              .send_cq = cq_,
                              .receive_cq = cq_,
                              .send = {8, 2, 16},
                              .receive = {8, 2, 0},
                              .signal_all = true});
        datagram_cq_ = hca_.create_cq({.capacity = 4096, .on_completion = {}});
        datagrams_ = hca_.create_qp({.type = QpType::ud,
                                     .pd = pd_,
                                     .send_cq = datagram_cq_,
                                     .receive_cq = datagram_cq_,
                                     .send = {8, 2, 16},
                                     .receive = {8, 2, 0},
                                     .signal_all = true});
        begin_datagrams();
        join();
    }
    ~Target() { ::munmap(shared_, wire_bytes); }
    Target(const Target&) = delete;
    Target& operator=(const Target&) = delete;

    void run()
    {
        while (!input_.empty()) {
            try {
                step();
            } catch (const Error&) {
                // A refusal.
            }
            fuzz::require(ended_ <= accepted_ && datagrams_ended_ <= datagrams_accepted_);
        }
        fuzz::require(std::ranges::count(secret(), std::byte{0x5a}) == 4096);
        // What a refusal or an end left behind ends, too.
        link_->lost();
        settle();
        fuzz::require(link_->ended());
        // Nothing that was sent waits for a link that is no more; receives wait for anybody.
        if (datagrams_->state() != QpState::err)
            hca_.modify_qp(*datagrams_, QpState::err);
        poll();
        fuzz::require(ended_ == accepted_);
        fuzz::require(datagrams_ended_ == datagrams_accepted_);
    }

  private:
    static HcaOptions options()
    {
        HcaOptions options;
        options.mpt_cache = {2, 2};
        options.max_message = 1 << 20;
        return options;
    }
    std::span<std::byte> secret() { return memory_.memory(DmaAddress{secret_at}, 4096, Direction::write); }
    void join()
    {
        std::array<int, 2> sockets{};
        fuzz::require(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets.data()) == 0);
        peer_ = FileDescriptor{sockets[1]};
        WireMemory memory = WireMemory::make();
        void* const address = ::mmap(nullptr, wire_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory.descriptor(), 0);
        fuzz::require(address != MAP_FAILED);
        if (shared_ != nullptr)
            ::munmap(shared_, wire_bytes);
        shared_ = static_cast<std::byte*>(address);
        written_ = 0;
        link_ = std::make_shared<Link>(
            std::make_unique<Wire>(FileDescriptor{sockets[0]}, std::move(memory), Wire::Side::maker));
        hca_.modify_qp(*qp_, QpState::reset);
        accepted_ = ended_ = 0;
        hca_.modify_qp(*qp_, QpState::init, to_init_rc(all_rights));
        QpAttributes attributes = to_rtr_rc(peer_qpn);
        attributes.link = link_;
        attributes.max_dest_rd_atomic = 3;
        hca_.modify_qp(*qp_, QpState::rtr, attributes);
        hca_.modify_qp(*qp_, QpState::rts, to_rts_rc(2));
    }
    void begin_datagrams()
    {
        hca_.modify_qp(*datagrams_, QpState::reset);
        datagrams_accepted_ = datagrams_ended_ = 0;
        hca_.modify_qp(*datagrams_, QpState::init, {.qkey = qkey});
        hca_.modify_qp(*datagrams_, QpState::rtr);
        hca_.modify_qp(*datagrams_, QpState::rts, {.send_psn = 0});
    }
    RingControl& incoming() { return *std::launder(reinterpret_cast<RingControl*>(shared_ + sizeof(RingControl))); }
    void settle()
    {
        int turns = 0;
        while (hca_.progress(*link_))
            fuzz::require(++turns < 10'000);
    }
    std::size_t poll(CompletionQueue& cq)
    {
        std::array<Completion, 64> done;
        std::size_t all = 0;
        std::size_t got = 0;
        do {
            got = hca_.poll(cq, done);
            all += got;
        } while (got == done.size());
        return all;
    }
    void poll()
    {
        ended_ += poll(*cq_);
        datagrams_ended_ += poll(*datagram_cq_);
    }
    void write(const Packet& packet)
    {
        std::byte* const ring = shared_ + 4096 + WireMemory::ring_bytes;
        std::memcpy(ring + written_ % WireMemory::ring_bytes, &packet, sizeof packet);
        written_ += ring_bytes_of(packet.payload % (2 * most_payload));
        incoming().written.store(written_);
    }
    Packet packet()
    {
        Packet made;
        made.kind = static_cast<std::uint8_t>(input_.byte() % 9);
        made.code = static_cast<std::uint8_t>(input_.byte() % 9);
        made.solicited = made.code & 1U;
        made.source_qpn = input_.byte() % 16 == 0 ? 3 : peer_qpn;
        made.destination_qpn = input_.byte() % 16 == 0 ? 3 : qp_->number();
        made.sequence = input_.byte() % 4 == 0 ? input_.byte() : next_sequence_++;
        made.rkey = input_.byte() % 8 == 0 ? lkey_.value : rkey_.value;
        made.address = input_.byte() % 2 == 0 ? input_.address() : granted_.start + input_.below(region_bytes);
        made.length = input_.byte() % 4 == 0 ? input_.address() : input_.below(300);
        made.payload = static_cast<std::uint32_t>(input_.byte() % 2 == 0 ? made.length : input_.number(2));
        made.compare_add = input_.byte();
        return made;
    }
    Packet datagram()
    {
        Packet made;
        made.kind = static_cast<std::uint8_t>(PacketKind::datagram);
        made.code = static_cast<std::uint8_t>(input_.byte() % 8 == 0 ? input_.byte() : 2 + input_.byte() % 2);
        made.solicited = input_.byte();
        made.source_qpn = static_cast<std::uint32_t>(input_.number(1));
        made.destination_qpn = input_.byte() % 16 == 0 ? qp_->number() : datagrams_->number();
        made.rkey = input_.byte() % 16 == 0 ? 1 : qkey;
        made.address = input_.number(3);
        made.length = input_.byte() % 8 == 0 ? input_.address() : input_.below(4200);
        // With a header in front, without, or neither.
        made.payload = static_cast<std::uint32_t>(made.length + (input_.byte() % 2 == 0 ? grh_bytes : 0) +
                                                  (input_.byte() % 16 == 0 ? input_.number(1) : 0));
        made.immediate = input_.byte();
        return made;
    }
    Sge own_memory(std::size_t most)
    {
        return {Iova{own_.start + input_.below(region_bytes)}, static_cast<std::uint32_t>(input_.below(most)),
                LKey{input_.byte() % 32 == 0 ? rkey_.value : lkey_.value}};
    }
    void send_datagram()
    {
        const Sge sge = own_memory(input_.byte() % 4 == 0 ? 5000 : 300);
        SendWorkRequest work;
        work.opcode = static_cast<SendOpcode>(input_.byte() % 16 == 0 ? input_.byte() % 7 : 2 + input_.byte() % 2);
        work.sges = {&sge, 1};
        work.link = input_.byte() % 16 == 0 ? nullptr : link_;
        if (input_.byte() % 2 == 0)
            work.grh.emplace();
        work.remote_qpn = input_.byte() % 2 == 0 ? peer_qpn : datagrams_->number();
        work.remote_qkey = qkey;
        datagrams_accepted_ += hca_.post_send(*datagrams_, work) == 0 ? 1U : 0U;
    }
    void datagram_step()
    {
        switch (input_.byte() % 8) {
        case 0:
            if (datagrams_->state() == QpState::err)
                begin_datagrams();
            else if (datagrams_->state() == QpState::sqe)
                hca_.modify_qp(*datagrams_, QpState::rts);
            else if (input_.byte() % 4 == 0)
                hca_.modify_qp(*datagrams_, QpState::err);
            break;
        case 1:
        case 2: {
            const std::array sges{own_memory(60), own_memory(6000)};
            datagrams_accepted_ += hca_.post_receive(*datagrams_, {1, sges}) == 0 ? 1U : 0U;
            break;
        }
        case 3: // as many as fill a ring: then they wait for room
            for (unsigned i = 0; i < 160; ++i)
                send_datagram();
            poll();
            break;
        case 4:
            send_datagram();
            break;
        default:
            write(datagram());
        }
    }
    void step()
    {
        const std::uint8_t what = input_.byte();
        if (what >= 200) {
            datagram_step();
            return;
        }
        switch (what % 10) {
        case 0:
        case 1:
        case 2:
            write(packet());
            break;
        case 3:
            settle();
            break;
        case 4: {
            const Sge sge{Iova{own_.start + input_.below(region_bytes)},
                          static_cast<std::uint32_t>(input_.below(700)), LKey{lkey_.value}};
            accepted_ += hca_.post_receive(*qp_, {1, {&sge, 1}}) == 0 ? 1U : 0U;
            break;
        }
        case 5: {
            const Sge sge{Iova{own_.start + input_.below(region_bytes)},
                          static_cast<std::uint32_t>(input_.below(700)), LKey{lkey_.value}};
            SendWorkRequest work;
            work.opcode = static_cast<SendOpcode>(input_.byte() % 7);
            work.sges = {&sge, 1};
            accepted_ += hca_.post_send(*qp_, work) == 0 ? 1U : 0U;
            break;
        }
        case 6: // anything, anywhere
            shared_[input_.number(3) % wire_bytes] = static_cast<std::byte>(input_.byte());
            break;
        case 7: // the counts
            (input_.byte() % 2 == 0 ? incoming().written : reinterpret_cast<RingControl*>(shared_)->read)
                .store(input_.byte() % 2 == 0 ? input_.address() : written_);
            break;
        case 8:
            poll();
            hca_.progress();
            break;
        default:
            if (link_->ended())
                join();
            else
                settle();
            break;
        }
    }

    Input input_;
    MadeUpMemory memory_;
    Hca hca_;
    Pd pd_;
    Pages granted_;
    Pages own_;
    Mkey rkey_;
    Mkey lkey_;
    std::shared_ptr<CompletionQueue> cq_;
    std::shared_ptr<QueuePair> qp_;
    FileDescriptor peer_;
    std::byte* shared_ = nullptr;
    std::uint64_t written_ = 0;
    std::uint32_t next_sequence_ = 0;
    std::shared_ptr<Link> link_;
    std::size_t accepted_ = 0;
    std::size_t ended_ = 0;
    std::shared_ptr<CompletionQueue> datagram_cq_;
    std::shared_ptr<QueuePair> datagrams_;
    std::size_t datagrams_accepted_ = 0;
    std::size_t datagrams_ended_ = 0;
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    Target{Input{data, size}}.run();
    return 0;
}
