// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Queues of a guest that writes anything into its memory, rings any doorbell, and describes queues in any way:
//! whatever it does ends in a status, an error completion, an event or nothing, and in the guest's memory only.
#include "input.hpp"

#include "firmware/command.hpp"
#include "firmware/domains.hpp"
#include "firmware/settings.hpp"
#include "layouts/cqc.hpp"
#include "layouts/doorbells.hpp"
#include "layouts/eqc.hpp"
#include "layouts/qpc.hpp"
#include "layouts/rmpc.hpp"
#include "queues/commands.hpp"
#include "queues/data_path.hpp"

#include <mrzone/base.hpp>

#include <hca/hca.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

using namespace mrz;
using layouts::Field;
using layouts::get;
using layouts::set;
using mrz::fuzz::Input;

namespace {

constexpr std::uint64_t page = 4096;
constexpr std::uint64_t guest_bytes = 32 * page;

class Memory final : public dma::Bus {
  public:
    std::span<std::byte> memory(DmaAddress at, std::uint64_t length, hca::Direction) noexcept override
    {
        const auto all = std::as_writable_bytes(std::span{words_});
        if (at.value() >= all.size())
            return {};
        return all.subspan(at.value(), std::min<std::uint64_t>(length, all.size() - at.value()));
    }
    std::span<std::byte> bytes() { return std::as_writable_bytes(std::span{words_}); }

  private:
    std::vector<std::uint64_t> words_ = std::vector<std::uint64_t>(guest_bytes / 8);
};

class Interrupts final : public vfio_user::Interrupts {
  public:
    void raise(unsigned vector) noexcept override { fuzz::require(vector < 32); }
};

using Clock = queues::Clock;

class Target {
  public:
    explicit Target(Input input) : input_{input}
    {
        domains_.add_to(commands_);
        eqs_.add_to(commands_);
        cqs_.add_to(commands_);
        srqs_.add_to(commands_);
        qps_.add_to(commands_);
        std::vector<std::byte> in(16);
        pd_ = number_of(command(0x800, in));
        uar_ = number_of(command(0x802, in));
        make_queues();
    }
    ~Target() { objects_.clear(); }

    void run()
    {
        for (int steps = 0; steps < 400 && !input_.empty(); ++steps)
            step();
        turn();
    }

  private:
    hca::HcaOptions options()
    {
        hca::HcaOptions options;
        options.max_qps = 16;
        options.max_cqs = 16;
        options.max_srqs = 16;
        options.keys.keys = 16;
        options.now = [this] { return now_; };
        options.on_event = [this](const hca::Event& event) { inbox_.happened(event); };
        return options;
    }

    std::vector<std::byte> command(std::uint16_t opcode, std::vector<std::byte> in)
    {
        std::vector<std::byte> out(512);
        set(in, Field{0, 16}, opcode);
        commands_.run(in, out);
        return out;
    }
    static std::uint32_t number_of(const std::vector<std::byte>& out)
    {
        return static_cast<std::uint32_t>(get(out, {72, 24}));
    }
    static std::vector<std::byte> with_pages(std::size_t head, std::uint64_t first, std::uint64_t count)
    {
        std::vector<std::byte> in(head + count * 8);
        for (std::uint64_t i = 0; i < count; ++i)
            set(std::span{in}.subspan(head + 8 * i, 8), {0, 64}, first + i * page);
        return in;
    }

    // Every ring has a page or two of its own, so that what is written there by chance is seen.
    void make_queues()
    {
        using namespace layouts;
        auto eq = with_pages(create_eq_in::bytes, page, 1);
        set(eq, inside(create_eq_in::eq_context_entry, eqc::log_eq_size), 3);
        set(eq, inside(create_eq_in::eq_context_entry, eqc::uar_page), uar_);
        set(eq, Field{static_cast<std::uint16_t>(create_eq_in::event_bitmask.offset), 64}, ~std::uint64_t{0});
        const std::uint32_t eqn = static_cast<std::uint32_t>(get(command(0x301, eq), create_eq_out::eq_number));

        auto cq = with_pages(create_cq_in::bytes, 2 * page, 1);
        const auto cq_field = [](Field field) { return inside(create_cq_in::cq_context, field); };
        set(cq, cq_field(cqc::log_cq_size), 4);
        set(cq, cq_field(cqc::uar_page), uar_);
        set(cq, cq_field(cqc::c_eqn_or_apu_element), eqn);
        set(cq, cq_field(cqc::dbr_addr), 20 * page);
        cqn_ = number_of(command(0x400, cq));

        auto rmp = with_pages(create_rmp_in::bytes, 3 * page, 1);
        const auto queue = part(part(std::span{rmp}, create_rmp_in::ctx), rmpc::wq);
        set(part(std::span{rmp}, create_rmp_in::ctx), rmpc::state, 1);
        set(queue, wq::log_wq_sz, 3);
        set(queue, wq::log_wq_stride, 6);
        set(queue, wq::pd, pd_);
        set(queue, wq::dbr_addr, 20 * page + 64);
        srqn_ = number_of(command(0x90c, rmp));

        for (std::uint64_t i = 0; i < 5; ++i)
            make_pair(i);
        hca::MkeySpec spec;
        spec.pd = hca::Pd{pd_};
        spec.rights = hca::KeyRights::local_read | hca::KeyRights::local_write | hca::KeyRights::remote_read |
                      hca::KeyRights::remote_write | hca::KeyRights::remote_atomic;
        spec.start = Iova{0};
        spec.length = guest_bytes;
        spec.variant = 0;
        for (std::uint64_t at = 0; at < guest_bytes; at += page)
            spec.pages.emplace_back(at);
        key_ = engine_.create_mkey(spec);
    }
    // 0 and 1 are connected with each other, 2 takes from the shared queue, 3 carries datagrams, 4 changes keys.
    void make_pair(std::uint64_t i)
    {
        using namespace layouts;
        auto in = with_pages(create_qp_in::bytes, (4 + 2 * i) * page, 1);
        const auto field = [](Field of) { return inside(create_qp_in::qpc, of); };
        static constexpr std::array<std::uint8_t, 5> services = {0, 0, 0, 2, 0xc};
        set(in, field(qpc::st), services[i]);
        set(in, field(qpc::pd), pd_);
        set(in, field(qpc::log_rq_size), 2);
        set(in, field(qpc::log_rq_stride), 2);
        set(in, field(qpc::log_sq_size), 4);
        set(in, field(qpc::uar_page), uar_);
        set(in, field(qpc::cqn_snd), cqn_);
        set(in, field(qpc::cqn_rcv), cqn_);
        set(in, field(qpc::dbr_addr), 20 * page + 128 + 8 * i);
        set(in, field(qpc::rq_type), i == 2 ? 1U : 0U);
        set(in, field(qpc::srqn_rmpn_xrqn), srqn_);
        numbers_.push_back(number_of(command(0x500, in)));
        const std::uint32_t qpn = numbers_.back();
        const std::uint32_t peer = i == 0 ? qpn + 1 : i == 1 ? qpn - 1 : qpn;
        for (const std::uint16_t opcode : {std::uint16_t{0x502}, std::uint16_t{0x503}, std::uint16_t{0x504}}) {
            std::vector<std::byte> move(rst2init_qp_in::bytes);
            set(move, rst2init_qp_in::qpn, qpn);
            set(move, field(qpc::rre), 1);
            set(move, field(qpc::rwe), 1);
            set(move, field(qpc::rae), 1);
            set(move, field(qpc::mtu), 5);
            set(move, field(qpc::remote_qpn), peer);
            set(move, field(qpc::min_rnr_nak), 1);
            set(move, field(qpc::retry_count), 1);
            set(move, field(qpc::rnr_retry), 1);
            command(opcode, move);
        }
    }

    void step()
    {
        switch (input_.byte() % 8) {
        case 0:
        case 1:
            write_anywhere();
            break;
        case 2:
        case 3:
            write_entry();
            break;
        case 4:
            ring();
            break;
        case 5:
            any_command();
            break;
        case 6:
            now_ += std::chrono::milliseconds{input_.byte()};
            turn();
            break;
        default:
            turn();
            break;
        }
    }
    void write_anywhere()
    {
        const std::size_t at = input_.below(guest_bytes / 8) * 8;
        const std::size_t count = input_.byte() % 64;
        for (std::size_t i = at; i < std::min<std::size_t>(at + count, guest_bytes); ++i)
            memory_.bytes()[i] = static_cast<std::byte>(input_.byte());
    }
    // Somewhere in a send queue, counted and rung.
    void write_entry()
    {
        const std::uint64_t pair = input_.byte() % numbers_.size();
        const std::uint64_t ring_at = (4 + 2 * pair) * page + (pair == 2 ? 0U : 256U);
        const std::uint64_t record = 20 * page + 128 + 8 * pair + layouts::qp_record_send;
        const std::uint64_t produced = get(memory_.bytes().subspan(record, 4), {0, 32});
        static constexpr std::array<std::uint8_t, 10> opcodes = {0x00, 0x08, 0x09, 0x0a, 0x0b,
                                                                 0x10, 0x11, 0x12, 0x25, 0x3f};
        std::array<std::byte, 256> entry{};
        set(entry, {24, 8}, opcodes[input_.byte() % opcodes.size()]);
        const std::uint64_t ds = 1 + input_.byte() % 16;
        set(entry, {58, 6}, ds);
        set(entry, {88, 8}, input_.byte());
        for (std::size_t i = 16; i < ds * 16; i += 4)
            set(std::span{entry}.subspan(i, 4), {0, 32}, word());
        for (std::size_t i = 0; i < ds * 16; ++i)
            memory_.bytes()[ring_at + (produced * 64 + i) % 1024] = entry[i];
        set(memory_.bytes().subspan(record, 4), {0, 32}, (produced + (ds * 16 + 63) / 64) & 0xffff);
        std::array<std::byte, 8> doorbell{};
        set(doorbell, {32, 24}, numbers_[pair]);
        path_.ring(uar_, layouts::uar_send, doorbell);
    }
    // What makes sense in one place or another.
    std::uint32_t word()
    {
        switch (input_.byte() % 6) {
        case 0:
            return key_.value;
        case 1:
            return numbers_[input_.byte() % numbers_.size()];
        case 2:
            return static_cast<std::uint32_t>(input_.number(4));
        case 3:
            return 0;
        default:
            return static_cast<std::uint32_t>(input_.number(2));
        }
    }
    void ring()
    {
        static constexpr std::array<std::uint64_t, 6> offsets = {0x20, 0x40, 0x48, 0x800, 0x900, 0x24};
        std::array<std::byte, 8> bytes{};
        set(bytes, {0, 32}, word());
        set(bytes, {32, 32}, input_.byte() % 2 == 0 ? cqn_ : word());
        path_.ring(uar_, offsets[input_.byte() % offsets.size()],
                   std::span{bytes}.first(input_.byte() % 2 == 0 ? 8 : 4));
    }
    void any_command()
    {
        static constexpr std::array<std::uint16_t, 27> opcodes = {
            0x301, 0x302, 0x303, 0x400, 0x401, 0x402, 0x403, 0x500, 0x501, 0x502, 0x503, 0x504, 0x505, 0x506,
            0x507, 0x50a, 0x50b, 0x50c, 0x50e, 0x705, 0x706, 0x707, 0x708, 0x90c, 0x90d, 0x90e, 0x90f};
        std::vector<std::byte> in(input_.byte() % 2 == 0 ? 640 : 16 * (1 + input_.byte() % 32));
        const std::size_t changes = input_.byte() % 32;
        for (std::size_t i = 0; i < changes; ++i)
            set(std::span{in}.subspan(input_.below(in.size() / 4) * 4, 4), {0, 32}, word());
        set(in, {48, 16}, input_.byte() % 2);
        set(in, {16, 16}, 0);
        set(in, {72, 24}, word());
        command(opcodes[input_.byte() % opcodes.size()], in);
    }
    void turn()
    {
        for (int turns = 0; turns < 1000 && path_.turn(); ++turns)
            ;
    }

    Input input_;
    Memory memory_;
    Interrupts interrupts_;
    Clock::time_point now_{std::chrono::hours{1}};
    queues::Inbox inbox_;
    hca::Hca engine_{memory_, options()};
    firmware::Objects objects_;
    firmware::Settings settings_;
    firmware::Context context_{engine_, memory_, objects_, settings_};
    queues::EventQueues event_queues_;
    queues::DataPath path_{{.engine = engine_,
                            .bus = memory_,
                            .event_queues = event_queues_,
                            .change_key = [](const firmware::KeyChange&) {},
                            .inbox = inbox_,
                            .router = {},
                            .lid = 1,
                            .now = [this] { return now_; }}};
    firmware::Commands commands_;
    firmware::Domains domains_{context_};
    queues::CommandParts parts_{context_, path_, event_queues_, interrupts_};
    queues::EventQueueCommands eqs_{parts_};
    queues::CompletionQueueCommands cqs_{parts_};
    queues::SharedReceiveCommands srqs_{parts_};
    queues::QueuePairCommands qps_{parts_};
    std::uint32_t pd_ = 0;
    std::uint32_t uar_ = 0;
    std::uint32_t cqn_ = 0;
    std::uint32_t srqn_ = 0;
    std::vector<std::uint32_t> numbers_;
    hca::Mkey key_{};
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    [[maybe_unused]] static const bool quiet = [] {
        set_log_sink([](Severity, std::string_view) {});
        return true;
    }();
    Target{Input{data, size}}.run();
    return 0;
}
