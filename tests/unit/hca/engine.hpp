// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! An adapter with two queue pairs in it, for tests of what they do to each other.
#pragma once

#include "engine_attributes.hpp"
#include "memory.hpp"

#include <hca/hca.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace mrz::hca {

//! A side of a connection: its queue pair, completions, memory, and keys to that.
struct Side {
    std::shared_ptr<CompletionQueue> cq;
    std::shared_ptr<QueuePair> qp;
    Pages pages;
    Mkey lkey;
    Mkey rkey;

    [[nodiscard]] Sge sge(std::uint64_t offset, std::uint32_t length) const
    {
        return {Iova{pages.start + offset}, length, LKey{lkey.value}};
    }
};

class EngineTest : public ::testing::Test {
  protected:
    static constexpr std::uint64_t region_bytes = 5 * 4096;

    explicit EngineTest(const HcaOptions& options = {}) : hca{memory, with_clock(options)}, pd{hca.alloc_pd()}
    {
        alice = make_side(0x1'0000'0000, 0x7f00'0000'0123);
        bob = make_side(0x2'0000'0000, 0x5500'0000'0ff8);
    }

    //! The engine with a clock that stands still unless a test moves it.
    HcaOptions with_clock(HcaOptions options)
    {
        options.now = [this] {
            if (before_now)
                before_now();
            return now;
        };
        options.on_event = [this](const Event& event) { events.push_back(event); };
        return options;
    }
    Side make_side(std::uint64_t where, std::uint64_t start)
    {
        Side side;
        side.cq = hca.create_cq({.capacity = 256});
        side.pages = Pages::make(memory, where, 12, start, region_bytes, static_cast<unsigned>(where >> 32));
        side.pages.fill(memory, static_cast<std::uint8_t>(where >> 32));
        side.lkey = hca.create_mkey(side.pages.spec(pd, KeyRights::local_read | KeyRights::local_write));
        side.rkey = hca.create_mkey(
            side.pages.spec(pd, KeyRights::remote_read | KeyRights::remote_write | KeyRights::remote_atomic));
        return side;
    }
    QpOptions rc_options(const Side& side) const
    {
        return {.type = QpType::rc,
                .pd = pd,
                .send_cq = side.cq,
                .receive_cq = side.cq,
                .srq = {},
                .send = {.work_requests = 16, .sges = 4, .inline_bytes = 64},
                .receive = {.work_requests = 16, .sges = 4, .inline_bytes = 0},
                .signal_all = false};
    }
    void connect(KeyRights access = all_rights, std::uint8_t rnr_retry = 7)
    {
        alice.qp = hca.create_qp(rc_options(alice));
        bob.qp = hca.create_qp(rc_options(bob));
        for (Side* side : {&alice, &bob}) {
            hca.modify_qp(*side->qp, QpState::init, to_init_rc(access));
            hca.modify_qp(*side->qp, QpState::rtr, to_rtr_rc((side == &alice ? bob : alice).qp->number()));
            hca.modify_qp(*side->qp, QpState::rts, to_rts_rc(rnr_retry));
        }
    }

    //! A signaled request for the memory of \p to. It points to \p sges.
    static SendWorkRequest request(SendOpcode opcode, const std::vector<Sge>& sges, const Side& to,
                                   std::uint64_t offset, std::uint64_t id = 1)
    {
        SendWorkRequest work;
        work.id = id;
        work.opcode = opcode;
        work.flags = SendFlags::signaled;
        work.sges = sges;
        work.immediate = 0xabcd;
        work.remote_address = Iova{to.pages.start + offset};
        work.rkey = RKey{to.rkey.value};
        return work;
    }
    void receive(Side& side, const std::vector<Sge>& sges, std::uint64_t id = 100)
    {
        ASSERT_EQ(hca.post_receive(*side.qp, {id, sges}), 0);
    }
    //! All that is in a side's completion queue.
    std::vector<Completion> completions(const Side& side)
    {
        std::vector<Completion> result(64);
        result.resize(hca.poll(*side.cq, result));
        return result;
    }
    //! The status of the one completion that there must be.
    WcStatus only_status(const Side& side)
    {
        const std::vector<Completion> all = completions(side);
        EXPECT_EQ(all.size(), 1u);
        return all.empty() ? WcStatus::general_error : all.front().status;
    }
    std::vector<std::byte> bytes(const Side& side) { return side.pages.bytes(memory); }

    MadeUpMemory memory;
    QueuePair::Clock::time_point now{};
    std::function<void()> before_now; // called whenever the engine reads the clock
    std::vector<Event> events;
    Hca hca;
    Pd pd;
    Side alice;
    Side bob;
};

} // namespace mrz::hca
