// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! An Ethernet port, and a driver's hand that gives it commands, posts work and reads completions.
#pragma once

#include "../firmware/harness.hpp"

#include "ethernet/commands.hpp"
#include "ethernet/flow_tables.hpp"
#include "layouts/cqc.hpp"
#include "layouts/cqe.hpp"
#include "layouts/doorbells.hpp"
#include "layouts/eqc.hpp"
#include "layouts/packet_queues.hpp"
#include "layouts/packet_transport.hpp"
#include "layouts/rmpc.hpp"
#include "layouts/wqe.hpp"
#include "queues/commands.hpp"
#include "queues/data_path.hpp"

#include <array>
#include <cstdint>
#include <vector>

namespace mrz::ethernet::test {

namespace l = mrz::layouts;
using firmware::Kind;
using firmware::Status;
using firmware::test::Answer;
using firmware::test::Values;

class NoInterrupts final : public vfio_user::Interrupts {
  public:
    void raise(unsigned) noexcept override {}
};

class ThePort : public firmware::test::TheFirmware {
  protected:
    // Where the driver's rings lie, a page each, and their records.
    static constexpr std::uint64_t eq_at = 0x2000;
    static constexpr std::uint64_t cq_at = 0x3000;
    static constexpr std::uint64_t sq_at = 0x4000;
    static constexpr std::uint64_t rq_at = 0x5000;
    static constexpr std::uint64_t cq_record = 0x6000;
    static constexpr std::uint64_t sq_record = 0x6040;
    static constexpr std::uint64_t rq_record = 0x6080;
    static constexpr unsigned log_sends = 4;

    explicit ThePort(const firmware::Settings& settings = {.link = firmware::LinkType::ethernet})
        : TheFirmware{settings}
    {
        eqs_.add_to(firmware_.commands());
        cqs_.add_to(firmware_.commands());
        sqs_.add_to(firmware_.commands());
        rqs_.add_to(firmware_.commands());
        tables_.add_to(firmware_.commands());
        add_queue_tables(firmware_.commands(), firmware_.context());
        add_ways_to_send(firmware_.commands(), firmware_.context());
        add_ways_to_receive(firmware_.commands(), firmware_.context());
    }
    ~ThePort() override { firmware_.reset(); }

    void SetUp() override
    {
        begin();
        uar_ = number(good(0x802), l::alloc_uar_out::uar);
        pd_ = make_pd();
        domain_ = number(good(0x816), l::alloc_transport_domain_out::transport_domain);
        eq_ = number(good(eq_input()), l::create_eq_out::eq_number);
        cq_ = number(good(cq_input()), l::create_cq_out::cqn);
    }

    static std::uint32_t number(const Answer& answer, l::Field field)
    {
        return static_cast<std::uint32_t>(answer.get(field));
    }
    Answer good(const std::vector<std::byte>& in, std::size_t out_bytes = 16)
    {
        Answer answer = run(in, out_bytes);
        EXPECT_EQ(answer.status, Status::ok) << log_;
        return answer;
    }
    Answer good(std::uint16_t opcode, Values values = {}, std::size_t in = 16, std::size_t out = 16,
                std::uint16_t uid = 0)
    {
        return good(firmware::test::input(opcode, 0, uid, in, values), out);
    }
    //! As the input of a command, less what is given for fields.
    static std::vector<std::byte> with(std::vector<std::byte> in, Values values)
    {
        for (const auto& [field, value] : values)
            l::set(in, field, value);
        return in;
    }
    static void add_page(std::vector<std::byte>& in, std::uint64_t page)
    {
        in.resize(in.size() + 8);
        l::set(std::span{in}.last(8), {0, 64}, page);
    }

    std::vector<std::byte> eq_input() const
    {
        namespace in = l::create_eq_in;
        std::vector<std::byte> bytes =
            firmware::test::input(0x301, 0, 0, in::pas.offset,
                                  {{l::inside(in::eq_context_entry, l::eqc::log_eq_size), 4},
                                   {l::inside(in::eq_context_entry, l::eqc::uar_page), uar_},
                                   {l::inside(in::event_bitmask, {0, 64}), 1U << 5}}); // wq_catas_error
        add_page(bytes, eq_at);
        return bytes;
    }
    std::vector<std::byte> cq_input()
    {
        namespace in = l::create_cq_in;
        std::vector<std::byte> bytes =
            firmware::test::input(0x400, 0, 0, in::pas.offset,
                                  {{l::inside(in::cq_context, l::cqc::log_cq_size), 5},
                                   {l::inside(in::cq_context, l::cqc::uar_page), uar_},
                                   {l::inside(in::cq_context, l::cqc::c_eqn_or_apu_element), eq_},
                                   {l::inside(in::cq_context, l::cqc::dbr_addr), cq_record}});
        add_page(bytes, cq_at);
        for (std::uint64_t i = 0; i < 32; ++i)
            memory_.at(cq_at + 64 * i + 63, 1)[0] = std::byte{0xf1};
        return bytes;
    }
    // Fields of a queue's context, and of the work queue in it, in CREATE_SQ and CREATE_RQ.
    static constexpr l::Field in_sq(l::Field field) { return l::inside(l::create_sq_in::ctx, field); }
    static constexpr l::Field in_rq(l::Field field) { return l::inside(l::create_rq_in::ctx, field); }
    static constexpr l::Field in_wq(l::Field field) { return in_sq(l::inside(l::sqc::wq, field)); }

    std::vector<std::byte> sq_input(std::uint32_t tis = 0, std::uint16_t uid = 0) const
    {
        std::vector<std::byte> bytes = firmware::test::input(0x904, 0, uid, l::create_sq_in::bytes,
                                                             {{in_sq(l::sqc::cqn), cq_},
                                                              {in_sq(l::sqc::user_index), 0x777},
                                                              {in_sq(l::sqc::flush_in_error_en), 1},
                                                              {in_sq(l::sqc::tis_lst_sz), tis == 0 ? 0U : 1U},
                                                              {in_sq(l::sqc::tis_num_0), tis},
                                                              {in_wq(l::wq::wq_type), 1},
                                                              {in_wq(l::wq::log_wq_stride), 6},
                                                              {in_wq(l::wq::log_wq_sz), log_sends},
                                                              {in_wq(l::wq::pd), pd_},
                                                              {in_wq(l::wq::uar_page), uar_},
                                                              {in_wq(l::wq::dbr_addr), sq_record}});
        add_page(bytes, sq_at);
        return bytes;
    }
    std::vector<std::byte> rq_input(std::uint16_t uid = 0) const
    {
        std::vector<std::byte> bytes = firmware::test::input(0x908, 0, uid, l::create_rq_in::bytes,
                                                             {{in_rq(l::rqc::cqn), cq_},
                                                              {in_wq(l::wq::wq_type), 1},
                                                              {in_wq(l::wq::log_wq_stride), 6},
                                                              {in_wq(l::wq::log_wq_sz), 3},
                                                              {in_wq(l::wq::pd), pd_},
                                                              {in_wq(l::wq::dbr_addr), rq_record}});
        add_page(bytes, rq_at);
        return bytes;
    }
    std::uint32_t make_sq(std::uint32_t tis = 0) { return number(good(sq_input(tis)), l::create_sq_out::sqn); }
    std::uint32_t make_rq() { return number(good(rq_input()), l::create_rq_out::rqn); }
    std::uint32_t make_tis()
    {
        return number(good(0x912, {{l::inside(l::create_tis_in::ctx, l::tisc::transport_domain), domain_}},
                           l::create_tis_in::bytes),
                      l::create_tis_out::tisn);
    }
    std::vector<std::byte> tir_input(std::uint32_t rq) const
    {
        return firmware::test::input(0x900, 0, 0, l::create_tir_in::bytes,
                                     {{l::inside(l::create_tir_in::ctx, l::tirc::transport_domain), domain_},
                                      {l::inside(l::create_tir_in::ctx, l::tirc::inline_rqn), rq}});
    }
    std::uint32_t make_tir(std::uint32_t rq) { return number(good(tir_input(rq)), l::create_tir_out::tirn); }
    Status modify_sq(std::uint32_t sqn, State from, State to, std::uint64_t mask = 0)
    {
        namespace in = l::modify_sq_in;
        return run(0x905,
                   {{in::sqn, sqn},
                    {in::sq_state, static_cast<std::uint64_t>(from)},
                    {in::modify_bitmask, mask},
                    {l::inside(in::ctx, l::sqc::state), static_cast<std::uint64_t>(to)}},
                   in::bytes)
            .status;
    }
    Status modify_rq(std::uint32_t rqn, State from, State to, std::uint64_t mask = 0, std::uint64_t counters = 0)
    {
        namespace in = l::modify_rq_in;
        return run(0x909,
                   {{in::rqn, rqn},
                    {in::rq_state, static_cast<std::uint64_t>(from)},
                    {in::modify_bitmask, mask},
                    {l::inside(in::ctx, l::rqc::vsd), 1},
                    {l::inside(in::ctx, l::rqc::counter_set_id), counters},
                    {l::inside(in::ctx, l::rqc::state), static_cast<std::uint64_t>(to)}},
                   in::bytes)
            .status;
    }
    Status destroy(std::uint16_t opcode, std::uint32_t number) { return run(opcode, {{{72, 24}, number}}).status; }

    //! Writes an entry of one block behind the others.
    void post(l::WqeOpcode opcode, bool signaled = true)
    {
        const auto entry = memory_.at(sq_at + 64 * (produced_ & ((1U << log_sends) - 1)), 64);
        std::ranges::fill(entry, std::byte{});
        l::set(entry, l::wqe_ctrl_seg::opcode, static_cast<std::uint64_t>(opcode));
        l::set(entry, l::wqe_ctrl_seg::ds, 4);
        l::set(entry, l::wqe_ctrl_seg::fm_ce_se, signaled ? 2U << l::wqe_completion_shift : 0);
        say(++produced_);
    }
    void say(std::uint16_t posted) { l::set(memory_.at(sq_record + l::qp_record_send, 4), {0, 32}, posted); }
    void ring(std::uint32_t sqn, std::uint32_t uar)
    {
        std::array<std::byte, 8> doorbell{};
        l::set(doorbell, l::wqe_ctrl_seg::qpn, sqn);
        path_.ring(uar, l::uar_send, doorbell);
        for (int turns = 0; path_.turn(); ++turns)
            ASSERT_LT(turns, 1000) << "it never comes to an end";
    }
    void ring(std::uint32_t sqn) { ring(sqn, uar_); }
    //! The next completion; nothing if there is none.
    std::vector<std::byte> completion()
    {
        const auto entry = memory_.at(cq_at + 64 * (consumed_ % 32), 64);
        if (l::get(entry, l::cqe64::opcode) == 0xf || l::get(entry, l::cqe64::owner) != (consumed_ / 32 & 1))
            return {};
        ++consumed_;
        return {entry.begin(), entry.end()};
    }
    std::uint64_t syndrome(const std::vector<std::byte>& entry) { return l::get(entry, l::err_cqe::syndrome); }

    NoInterrupts interrupts_;
    queues::EventQueues event_queues_;
    queues::Inbox inbox_;
    queues::DataPath path_{{.engine = engine_,
                            .bus = memory_,
                            .event_queues = event_queues_,
                            .change_key = {},
                            .inbox = inbox_,
                            .router = {},
                            .ethernet = true}};
    queues::CommandParts parts_{firmware_.context(), path_, event_queues_, interrupts_};
    queues::EventQueueCommands eqs_{parts_};
    queues::CompletionQueueCommands cqs_{parts_};
    SendQueueCommands sqs_{parts_};
    ReceiveQueueCommands rqs_{parts_};
    FlowTables tables_{firmware_.context()};
    std::uint32_t uar_ = 0;
    std::uint32_t pd_ = 0;
    std::uint32_t domain_ = 0;
    std::uint32_t eq_ = 0;
    std::uint32_t cq_ = 0;
    std::uint16_t produced_ = 0;
    std::uint32_t consumed_ = 0;
};

} // namespace mrz::ethernet::test
