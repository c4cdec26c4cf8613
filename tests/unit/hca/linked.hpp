// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Two engines that are joined by a wire, for tests of what they do to each other.
#pragma once

#include "engine_attributes.hpp"
#include "memory.hpp"

#include <hca/hca.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

namespace mrz::hca {

//! Two ends of a wire.
inline std::pair<std::unique_ptr<Wire>, std::unique_ptr<Wire>> make_wires()
{
    std::array<int, 2> sockets{};
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets.data()) != 0)
        throw std::runtime_error{"no sockets for the test"};
    WireMemory made = WireMemory::make();
    WireMemory taken = WireMemory::adopt(FileDescriptor{::fcntl(made.descriptor(), F_DUPFD_CLOEXEC, 0)});
    auto maker = std::make_unique<Wire>(FileDescriptor{sockets[0]}, std::move(made), Wire::Side::maker);
    return {std::move(maker),
            std::make_unique<Wire>(FileDescriptor{sockets[1]}, std::move(taken), Wire::Side::taker)};
}

//! An engine at one end of a link, with a queue pair, memory, and keys to that.
struct End {
    explicit End(unsigned seed, std::uint64_t bytes, HcaOptions options = {})
        : hca{memory, with_events(std::move(options))}, pd{hca.alloc_pd()}
    {
        cq = hca.create_cq({.capacity = 512, .on_completion = {}});
        pages = Pages::make(memory, 0x1'0000'0000, 12, 0x7f00'0000'0123 + seed, bytes, seed);
        pages.fill(memory, static_cast<std::uint8_t>(seed * 40));
        lkey = hca.create_mkey(pages.spec(pd, KeyRights::local_read | KeyRights::local_write));
        rkey = hca.create_mkey(
            pages.spec(pd, KeyRights::remote_read | KeyRights::remote_write | KeyRights::remote_atomic));
    }

    HcaOptions with_events(HcaOptions options)
    {
        options.on_event = [this](const Event& event) { events.push_back(event); };
        options.now = [this] { return now; };
        return options;
    }
    void make_qp(std::uint32_t work_requests = 64)
    {
        qp = hca.create_qp({.type = QpType::rc,
                            .pd = pd,
                            .send_cq = cq,
                            .receive_cq = cq,
                            .srq = srq,
                            .send = {.work_requests = work_requests, .sges = 4, .inline_bytes = 64},
                            .receive = {.work_requests = work_requests, .sges = 4, .inline_bytes = 0},
                            .signal_all = false});
        hca.modify_qp(*qp, QpState::init, to_init_rc(all_rights));
    }
    void connect(std::uint32_t peer, std::uint8_t rnr_retry = 7)
    {
        QpAttributes attributes = to_rtr_rc(peer);
        attributes.link = link;
        hca.modify_qp(*qp, QpState::rtr, attributes);
        hca.modify_qp(*qp, QpState::rts, to_rts_rc(rnr_retry));
    }

    [[nodiscard]] Sge sge(std::uint64_t offset, std::uint32_t length) const
    {
        return {Iova{pages.start + offset}, length, LKey{lkey.value}};
    }
    std::vector<Completion> completions()
    {
        std::vector<Completion> result(512);
        result.resize(hca.poll(*cq, result));
        return result;
    }
    std::vector<std::byte> bytes() { return pages.bytes(memory); }
    int post(SendOpcode opcode, const Sge& sge, const End& to, std::uint64_t offset, std::uint64_t id = 1,
             SendFlags flags = SendFlags::signaled)
    {
        SendWorkRequest work;
        work.id = id;
        work.opcode = opcode;
        work.flags = flags;
        work.sges = {&sge, 1};
        work.immediate = 0xabcd;
        work.remote_address = Iova{to.pages.start + offset};
        work.rkey = RKey{to.rkey.value};
        work.compare_add = 1;
        return hca.post_send(*qp, work);
    }
    int receive(const Sge& sge, std::uint64_t id = 100)
    {
        return srq ? hca.post_receive(*srq, {id, {&sge, 1}}) : hca.post_receive(*qp, {id, {&sge, 1}});
    }

    MadeUpMemory memory;
    std::vector<Event> events;
    QueuePair::Clock::time_point now{};
    Hca hca;
    Pd pd;
    std::shared_ptr<CompletionQueue> cq;
    std::shared_ptr<SharedReceiveQueue> srq;
    std::shared_ptr<QueuePair> qp;
    std::shared_ptr<Link> link;
    Pages pages;
    Mkey lkey;
    Mkey rkey;
};

class LinkedTest : public ::testing::Test {
  protected:
    static constexpr std::uint64_t region_bytes = std::uint64_t{4} << 20;

    LinkedTest()
    {
        auto [near_wire, far_wire] = make_wires();
        near.link = std::make_shared<Link>(std::move(near_wire));
        far.link = std::make_shared<Link>(std::move(far_wire));
    }
    void connect(std::uint8_t rnr_retry = 7)
    {
        near.make_qp();
        far.make_qp();
        near.connect(far.qp->number(), rnr_retry);
        far.connect(near.qp->number(), rnr_retry);
    }
    //! Until neither end has anything to do.
    void settle()
    {
        while (static_cast<int>(near.hca.progress(*near.link)) + static_cast<int>(far.hca.progress(*far.link)) != 0) {
        }
    }
    WcStatus only_status(End& end)
    {
        const std::vector<Completion> all = end.completions();
        EXPECT_EQ(all.size(), 1u);
        return all.empty() ? WcStatus::general_error : all.front().status;
    }

    End near{1, region_bytes};
    End far{2, region_bytes};
};

} // namespace mrz::hca
