// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! A driver of an Ethernet port that makes queues, tables and rules in any order, mostly such as make sense, and
//! posts anything: each command ends with a status, what is in use stays, and a reset leaves nothing.
#include "input.hpp"

#include "ethernet/commands.hpp"
#include "ethernet/flow_tables.hpp"
#include "firmware/firmware.hpp"
#include "layouts/command.hpp"
#include "layouts/cqc.hpp"
#include "layouts/domains.hpp"
#include "layouts/doorbells.hpp"
#include "layouts/eqc.hpp"
#include "layouts/flow_tables.hpp"
#include "layouts/packet_queues.hpp"
#include "layouts/packet_transport.hpp"
#include "layouts/rmpc.hpp"
#include "layouts/wqe.hpp"
#include "queues/commands.hpp"
#include "queues/data_path.hpp"

#include <mrzone/base.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

using namespace mrz;
using namespace mrz::layouts;
using firmware::Kind;
using firmware::Status;
using mrz::fuzz::Input;

namespace {

constexpr std::uint64_t page = 4096;
constexpr std::uint64_t guest_bytes = 16 * page;
// Where rings lie.
constexpr std::uint64_t eq_at = page;
constexpr std::uint64_t cq_at = 2 * page;
constexpr std::uint64_t records_at = 3 * page;
constexpr std::uint64_t queues_at = 4 * page;
constexpr std::uint64_t queue_pages = 12;
constexpr unsigned log_sends = 4;

class Memory final : public dma::Bus {
  public:
    std::span<std::byte> memory(DmaAddress at, std::uint64_t length, hca::Direction) noexcept override
    {
        if (at.value() >= guest_bytes)
            return {};
        return bytes().subspan(at.value(), std::min<std::uint64_t>(length, guest_bytes - at.value()));
    }
    std::span<std::byte> bytes() { return std::as_writable_bytes(std::span{words_}); }

  private:
    std::vector<std::uint64_t> words_ = std::vector<std::uint64_t>(guest_bytes / 8);
};

class NoInterrupts final : public vfio_user::Interrupts {
  public:
    void raise(unsigned) noexcept override {}
};

firmware::Settings settings()
{
    firmware::Settings settings;
    settings.link = firmware::LinkType::ethernet;
    settings.log_max_uctx = 2;
    settings.log_max_packet_queues = 4;
    settings.log_max_flow_tables = 4;
    return settings;
}

hca::HcaOptions small_engine()
{
    hca::HcaOptions options;
    options.keys = {.keys = 32, .translations = 256, .max_page_shift = 63, .max_nesting = 3};
    options.max_cqs = 8;
    options.max_qps = 8;
    options.max_srqs = 8;
    return options;
}

class Target {
  public:
    using Bytes = std::vector<std::byte>;

    explicit Target(Input input) : input_{input}
    {
        firmware::Commands& commands = firmware_.commands();
        eqs_.add_to(commands);
        cqs_.add_to(commands);
        sqs_.add_to(commands);
        rqs_.add_to(commands);
        tables_.add_to(commands);
        ethernet::add_queue_tables(commands, firmware_.context());
        ethernet::add_ways_to_send(commands, firmware_.context());
        ethernet::add_ways_to_receive(commands, firmware_.context());
        for (const auto& [opcode, handler] : commands.all())
            opcodes_.push_back(opcode);
        begin();
    }
    ~Target() { firmware_.reset(); }
    Target(const Target&) = delete;
    Target& operator=(const Target&) = delete;

    void run()
    {
        for (int steps = 0; steps < 500 && !input_.empty(); ++steps)
            step();
        settle();
        firmware_.reset();
        fuzz::require(firmware_.context().objects.count() == 0);
        settle();
    }

  private:
    // ---- Commands -------------------------------------------------------------------------------------------------

    Bytes run(Bytes in)
    {
        Bytes out(512);
        firmware_.commands().run(in, out);
        const auto status = static_cast<Status>(get(out, command_out::status));
        fuzz::require(firmware::to_string(status) != "?" && status != Status::internal_error);
        return out;
    }
    static Bytes input(std::uint16_t opcode, std::size_t bytes,
                       std::initializer_list<std::pair<Field, std::uint64_t>> values = {})
    {
        Bytes in(bytes);
        set(in, command_in::opcode, opcode);
        for (const auto& [field, value] : values)
            set(in, field, value);
        return in;
    }
    static void add_page(Bytes& in, std::uint64_t at)
    {
        in.resize(in.size() + 8);
        set(std::span{in}.last(8), {0, 64}, at);
    }
    //! Changes a little of it, sometimes, and runs it; what it made is known by its number from then on.
    void give(Kind kind, Bytes in)
    {
        for (unsigned changes = input_.byte() % 8 == 1 ? 1 + input_.byte() % 4 : 0; changes > 0; --changes)
            in[4 + input_.below(in.size() - 4)] = std::byte{input_.byte()};
        if (input_.byte() % 16 == 1)
            set(in, command_in::uid, input_.byte() % 4);
        if (input_.byte() % 16 == 1)
            in.resize(16 + input_.below(in.size()));
        const Bytes out = run(std::move(in));
        if (get(out, command_out::status) == 0 && kind_count(kind) > numbers_[kind].size())
            numbers_[kind].push_back(static_cast<std::uint32_t>(get(out, {72, 24})));
    }
    std::size_t kind_count(Kind kind) { return firmware_.context().objects.count(kind); }
    //! One that was made; it may be gone.
    std::uint32_t some(Kind kind)
    {
        const std::vector<std::uint32_t>& all = numbers_[kind];
        return all.empty() || input_.byte() % 32 == 1 ? static_cast<std::uint32_t>(input_.number(1))
                                                      : all[input_.byte() % all.size()];
    }
    void destroy(Kind kind, Bytes in, Field where)
    {
        const std::uint32_t number = some(kind);
        set(in, where, number);
        if (get(run(in), command_out::status) == 0)
            std::erase(numbers_[kind], number);
    }

    void begin()
    {
        numbers_.clear();
        run(input(0x104, 16));
        run(input(0x102, 16));
        uar_ = static_cast<std::uint32_t>(get(run(input(0x802, 16)), alloc_uar_out::uar));
        pd_ = static_cast<std::uint32_t>(get(run(input(0x800, 16)), alloc_pd_out::pd));
        domain_ =
            static_cast<std::uint32_t>(get(run(input(0x816, 16)), alloc_transport_domain_out::transport_domain));
        Bytes eq = input(0x301, create_eq_in::pas.offset,
                         {{inside(create_eq_in::eq_context_entry, eqc::log_eq_size), 4},
                          {inside(create_eq_in::eq_context_entry, eqc::uar_page), uar_},
                          {inside(create_eq_in::event_bitmask, {0, 64}), ~std::uint64_t{0}}});
        add_page(eq, eq_at);
        eq_ = static_cast<std::uint32_t>(get(run(eq), create_eq_out::eq_number));
        give_cq();
        if (input_.byte() % 4 == 1)
            return;
        // One of each, so that most inputs have what the others are made of.
        give_rq();
        give_rqt();
        give_tir();
        give_tis();
        give_sq();
        give(Kind::flow_table, table_input(0x930));
        give_group();
    }
    void give_cq()
    {
        const auto field = [](Field inner) { return inside(create_cq_in::cq_context, inner); };
        Bytes cq = input(0x400, create_cq_in::pas.offset,
                         {{field(cqc::log_cq_size), 5},
                          {field(cqc::uar_page), uar_},
                          {field(cqc::c_eqn_or_apu_element), eq_},
                          {field(cqc::dbr_addr), records_at}});
        add_page(cq, cq_at);
        give(Kind::cq, cq);
    }
    std::uint64_t place() { return queues_at + page * (input_.byte() % queue_pages); }
    std::uint64_t record() { return records_at + 64 * std::uint64_t{1U + input_.byte() % 8U}; }

    void give_sq()
    {
        const auto field = [](Field inner) { return inside(create_sq_in::ctx, inner); };
        const auto queue = [&field](Field inner) { return field(inside(sqc::wq, inner)); };
        const bool sends = !numbers_[Kind::tis].empty() && input_.byte() % 2 == 0;
        Bytes sq = input(0x904, create_sq_in::bytes,
                         {{field(sqc::cqn), some(Kind::cq)},
                          {field(sqc::flush_in_error_en), input_.byte() % 2},
                          {field(sqc::tis_lst_sz), sends ? 1 : 0},
                          {field(sqc::tis_num_0), sends ? some(Kind::tis) : 0},
                          {queue(wq::wq_type), 1},
                          {queue(wq::log_wq_stride), 6},
                          {queue(wq::log_wq_sz), log_sends},
                          {queue(wq::pd), pd_},
                          {queue(wq::uar_page), uar_},
                          {queue(wq::dbr_addr), record()}});
        add_page(sq, place());
        give(Kind::sq, sq);
    }
    void give_rq()
    {
        const auto field = [](Field inner) { return inside(create_rq_in::ctx, inner); };
        const auto queue = [&field](Field inner) { return field(inside(rqc::wq, inner)); };
        Bytes rq = input(0x908, create_rq_in::bytes,
                         {{field(rqc::cqn), some(Kind::cq)},
                          {queue(wq::wq_type), 1},
                          {queue(wq::log_wq_stride), 4 + input_.byte() % 4},
                          {queue(wq::log_wq_sz), 3},
                          {queue(wq::pd), input_.byte() % 4 == 0 ? 0 : pd_},
                          {queue(wq::dbr_addr), record()}});
        add_page(rq, place());
        give(Kind::rq, rq);
    }
    void move(bool sends)
    {
        Bytes in = sends ? input(0x905, modify_sq_in::bytes) : input(0x909, modify_rq_in::bytes);
        set(in, modify_sq_in::sqn, some(sends ? Kind::sq : Kind::rq));
        set(in, modify_sq_in::sq_state, input_.byte() % 4);
        set(in, inside(modify_sq_in::ctx, sqc::state), input_.byte() % 4);
        if (!sends)
            set(in, modify_rq_in::modify_bitmask, input_.byte() % 16 & 0xa);
        run(in);
    }
    void give_tis()
    {
        give(Kind::tis,
             input(0x912, create_tis_in::bytes, {{inside(create_tis_in::ctx, tisc::transport_domain), domain_}}));
    }
    void give_tir()
    {
        const auto field = [](Field inner) { return inside(create_tir_in::ctx, inner); };
        const bool to_table = input_.byte() % 2 == 0;
        give(Kind::tir, input(0x900, create_tir_in::bytes,
                              {{field(tirc::disp_type), to_table ? 1 : 0},
                               {field(tirc::transport_domain), domain_},
                               {field(tirc::inline_rqn), some(Kind::rq)},
                               {field(tirc::indirect_table), to_table ? some(Kind::rqt) : 0}}));
    }
    void list_queues(Bytes& in, Block context)
    {
        const std::uint64_t count = 1 + input_.byte() % 4;
        set(in, inside(context, rqtc::rqt_max_size), count + input_.byte() % 4);
        set(in, inside(context, rqtc::rqt_actual_size), count);
        for (std::uint64_t i = 0; i < count; ++i) {
            in.resize(in.size() + rq_num::bytes);
            set(std::span{in}.last(rq_num::bytes), rq_num::rq_num, some(Kind::rq));
        }
    }
    void give_rqt()
    {
        Bytes in = input(0x916, create_rqt_in::bytes);
        list_queues(in, create_rqt_in::rqt_context);
        give(Kind::rqt, in);
    }
    void change_rqt()
    {
        Bytes in = input(0x917, modify_rqt_in::bytes, {{modify_rqt_in::rqtn, some(Kind::rqt)}});
        set(in, inside(modify_rqt_in::bitmask, rqt_bitmask::rqn_list), 1);
        list_queues(in, modify_rqt_in::ctx);
        run(in);
    }

    // ---- Rules ----------------------------------------------------------------------------------------------------

    Bytes table_input(std::uint16_t opcode)
    {
        const auto field = [](Field inner) { return inside(create_flow_table_in::flow_table_context, inner); };
        const bool forwards = !numbers_[Kind::flow_table].empty() && input_.byte() % 2 == 0;
        return input(opcode, create_flow_table_in::bytes,
                     {{field(flow_table_context::level), input_.byte() % 8},
                      {field(flow_table_context::log_size), input_.byte() % 6},
                      {field(flow_table_context::table_miss_action), forwards ? 1 : 0},
                      {field(flow_table_context::table_miss_id), forwards ? some(Kind::flow_table) : 0}});
    }
    void change_table()
    {
        Bytes in = table_input(0x93c);
        set(in, modify_flow_table_in::table_id, some(Kind::flow_table));
        set(in, modify_flow_table_in::modify_field_select, 1);
        run(in);
    }
    void give_group()
    {
        namespace field = create_flow_group_in;
        const std::uint64_t first = input_.byte() % 32;
        give(Kind::flow_group, input(0x933, field::bytes,
                                     {{field::table_id, some(Kind::flow_table)},
                                      {field::start_flow_index, first},
                                      {field::end_flow_index, first + input_.byte() % 8}}));
    }
    void give_entry()
    {
        const auto field = [](Field inner) { return inside(set_fte_in::flow_context, inner); };
        const std::uint64_t count = input_.byte() % 4;
        Bytes in = input(0x936, set_fte_in::bytes,
                         {{set_fte_in::table_id, some(Kind::flow_table)},
                          {set_fte_in::flow_index, input_.byte() % 32},
                          {field(flow_context::group_id), some(Kind::flow_group)},
                          {field(flow_context::action), 4},
                          {field(flow_context::destination_list_size), count}});
        for (std::uint64_t i = 0; i < count; ++i) {
            const bool to_table = input_.byte() % 2 == 0;
            in.resize(in.size() + dest_format_struct::bytes);
            const auto at = std::span{in}.last(dest_format_struct::bytes);
            set(at, dest_format_struct::destination_type, to_table ? 1 : 2);
            set(at, dest_format_struct::destination_id, some(to_table ? Kind::flow_table : Kind::tir));
        }
        run(in);
    }
    void rule()
    {
        switch (input_.byte() % 8) {
        case 0:
            give(Kind::flow_table, table_input(0x930));
            break;
        case 1:
            change_table();
            break;
        case 2:
            give_group();
            break;
        case 3:
        case 4:
            give_entry();
            break;
        case 5:
            run(input(0x938, delete_fte_in::bytes,
                      {{delete_fte_in::table_id, some(Kind::flow_table)},
                       {delete_fte_in::flow_index, input_.byte() % 32}}));
            break;
        case 6: {
            Bytes in = input(0x934, destroy_flow_group_in::bytes,
                             {{destroy_flow_group_in::table_id, some(Kind::flow_table)}});
            destroy(Kind::flow_group, std::move(in), destroy_flow_group_in::group_id);
            break;
        }
        default:
            destroy(Kind::flow_table, input(0x931, destroy_flow_table_in::bytes), destroy_flow_table_in::table_id);
            break;
        }
    }
    void queue()
    {
        switch (input_.byte() % 10) {
        case 0:
        case 1:
            give_sq();
            break;
        case 2:
            give_rq();
            break;
        case 3:
            move(false);
            break;
        case 4:
        case 5:
            move(true);
            break;
        case 6:
            give_tis();
            break;
        case 7:
            give_tir();
            break;
        case 8:
            give_rqt();
            break;
        default:
            change_rqt();
            break;
        }
    }
    void end_one()
    {
        struct One {
            Kind kind;
            std::uint16_t opcode;
        };
        static constexpr std::array all{One{Kind::sq, 0x906},  One{Kind::rq, 0x90a},  One{Kind::tis, 0x914},
                                        One{Kind::tir, 0x902}, One{Kind::rqt, 0x918}, One{Kind::cq, 0x401}};
        const One& one = all[input_.byte() % all.size()];
        destroy(one.kind, input(one.opcode, 16), {72, 24});
        if (numbers_[Kind::cq].empty())
            give_cq();
    }
    void any_command()
    {
        Bytes in(16 + input_.below(600));
        for (unsigned count = input_.byte() % 32; count > 0; --count)
            in[input_.below(in.size())] = std::byte{input_.byte()};
        const std::uint16_t opcode = opcodes_[input_.below(opcodes_.size())];
        // What these end is what the rest begins with.
        if (opcode == 0x103 || opcode == 0x105)
            return;
        set(in, command_in::opcode, opcode);
        set(in, command_in::uid, input_.byte() % 4 == 0 ? input_.byte() % 4 : 0);
        set(in, {72, 24}, some(static_cast<Kind>(input_.byte() % firmware::kinds)));
        run(in);
    }

    // ---- Work -----------------------------------------------------------------------------------------------------

    void post()
    {
        const auto memory = memory_.bytes();
        const std::uint64_t at = place() + 64 * (input_.byte() % (1U << log_sends));
        const auto entry = memory.subspan(at, 64);
        static constexpr std::array<std::uint8_t, 6> opcodes = {0x00, 0x0a, 0x0e, 0x08, 0x25, 0x3f};
        set(entry, wqe_ctrl_seg::opcode, opcodes[input_.byte() % opcodes.size()]);
        set(entry, wqe_ctrl_seg::ds, input_.byte() % 4 == 0 ? input_.byte() % 64 : 4);
        set(entry, wqe_ctrl_seg::fm_ce_se, input_.byte());
        const auto counter = memory.subspan(record() + qp_record_send, 4);
        set(counter, {0, 32},
            input_.byte() % 8 == 0 ? input_.number(4) : (get(counter, {0, 32}) + 1 + input_.byte() % 4) & 0xffff);
        ring();
    }
    void ring()
    {
        std::array<std::byte, 8> doorbell{};
        set(doorbell, wqe_ctrl_seg::qpn, some(Kind::sq));
        path_.ring(input_.byte() % 16 == 0 ? uar_ + 1 : uar_, uar_send, doorbell);
        settle();
    }
    void settle()
    {
        for (int turns = 0; path_.turn(); ++turns)
            fuzz::require(turns < 10'000);
    }
    void step()
    {
        switch (input_.byte() % 16) {
        case 0:
            if (input_.byte() % 8 == 1) {
                firmware_.reset();
                fuzz::require(firmware_.context().objects.count() == 0);
                begin();
            }
            break;
        case 1:
        case 2:
            end_one();
            break;
        case 3:
            any_command();
            break;
        case 4:
        case 5:
        case 6:
            post();
            break;
        case 7:
            memory_.bytes()[input_.below(guest_bytes)] = std::byte{input_.byte()};
            break;
        case 8:
        case 9:
        case 10:
        case 11:
            rule();
            break;
        default:
            queue();
            break;
        }
    }

    Input input_;
    Memory memory_;
    NoInterrupts interrupts_;
    hca::Hca engine_{memory_, small_engine()};
    firmware::Firmware firmware_{engine_, memory_, settings()};
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
    ethernet::SendQueueCommands sqs_{parts_};
    ethernet::ReceiveQueueCommands rqs_{parts_};
    ethernet::FlowTables tables_{firmware_.context()};
    std::vector<std::uint16_t> opcodes_;
    std::map<Kind, std::vector<std::uint32_t>> numbers_;
    std::uint32_t uar_ = 0;
    std::uint32_t pd_ = 0;
    std::uint32_t domain_ = 0;
    std::uint32_t eq_ = 0;
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    set_log_sink([](Severity, std::string_view) {});
    Target{Input{data, size}}.run();
    return 0;
}
