// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Arbitrary work requests between arbitrary queue pairs: memory that no key grants stays as it was, and every
//! request that was accepted ends at most once.
#include "input.hpp"

#include "../unit/hca/engine_attributes.hpp"
#include "../unit/hca/memory.hpp"

#include <hca/hca.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <memory>
#include <span>
#include <utility>
#include <vector>

using namespace mrz;
using namespace mrz::hca;
using mrz::fuzz::Input;

namespace {

constexpr std::uint64_t region_bytes = 3 * 4096;
constexpr std::uint64_t secret_at = 0x9'0000'0000;

class Target {
  public:
    explicit Target(Input input) : input_{input}, hca_{memory_, options()}, pd_{hca_.alloc_pd()}
    {
        memory_.add(secret_at, 4096);
        std::ranges::fill(secret(), std::byte{0x5a});
        for (std::uint64_t i = 0; i < 2; ++i)
            regions_.push_back(Pages::make(memory_, (i + 1) << 32, 12, 0x100 * i, region_bytes, 1));
        srq_ = hca_.create_srq({.pd = pd_, .max_work_requests = 4, .max_sges = 2});
        for (std::size_t i = 0; i < 2; ++i) {
            cqs_.push_back(hca_.create_cq({.capacity = i == 0 ? 64U : 6U}));
            keys_.push_back(hca_.create_mkey(variant(regions_[i].spec(pd_, all_rights), i)));
        }
        for (unsigned i = 0; i < 4; ++i)
            make_queue_pair(i < 3 ? QpType::rc : QpType::ud, i == 2);
        connect(*qps_[0], *qps_[1], 7);
        connect(*qps_[2], *qps_[2], 2);
        connect(*qps_[3], *qps_[3], 0);
    }

    void run()
    {
        while (!input_.empty()) {
            try {
                step();
            } catch (const Error&) {
                // A refusal.
            }
        }
        fuzz::require(std::ranges::count(secret(), std::byte{0x5a}) == 4096);
        for (const auto& cq : cqs_)
            poll(*cq);
        fuzz::require(ended_ <= accepted_);
    }

  private:
    std::span<std::byte> secret() { return memory_.memory(DmaAddress{secret_at}, 4096, Direction::write); }
    HcaOptions options()
    {
        HcaOptions options;
        options.mpt_cache = {2, 2};
        options.mtt_cache = {2, 2};
        options.keys.keys = 16;
        options.now = [this] { return now_; };
        return options;
    }
    static MkeySpec variant(MkeySpec spec, std::size_t number)
    {
        spec.variant = static_cast<std::uint8_t>(number);
        return spec;
    }
    void make_queue_pair(QpType type, bool shared)
    {
        qps_.push_back(hca_.create_qp({.type = type,
                                       .pd = pd_,
                                       .send_cq = cqs_[qps_.size() % 2],
                                       .receive_cq = cqs_[0],
                                       .srq = shared ? srq_ : nullptr,
                                       .send = {.work_requests = 4, .sges = 3, .inline_bytes = 16},
                                       .receive = {.work_requests = 4, .sges = 2}}));
    }
    QueuePair& some_qp() { return *qps_[input_.byte() % qps_.size()]; }
    Mkey some_key()
    {
        return input_.byte() % 16 == 0 ? Mkey{static_cast<std::uint32_t>(input_.number(4))}
                                       : keys_[input_.byte() % keys_.size()];
    }
    std::uint64_t some_address()
    {
        return input_.byte() % 16 == 0 ? input_.address() : input_.below(region_bytes + 0x200);
    }

    std::vector<Sge> some_sges()
    {
        std::vector<Sge> sges(input_.byte() % 4);
        for (Sge& sge : sges) {
            const std::uint32_t length = input_.byte() % 32 == 0 ? static_cast<std::uint32_t>(input_.number(4))
                                                                 : static_cast<std::uint32_t>(input_.below(600));
            sge = {Iova{some_address()}, input_.byte() % 4 == 0 ? 8 : length, LKey{some_key().value}};
        }
        return sges;
    }

    void step()
    {
        switch (input_.byte() % 12) {
        case 0:
        case 1:
        case 2:
            post_send();
            break;
        case 3: {
            QueuePair& qp = some_qp();
            const std::vector<Sge> sges = some_sges();
            accepted_ += hca_.post_receive(qp, {1, sges}) == 0 ? 1 : 0;
            break;
        }
        case 4: {
            const std::vector<Sge> sges = some_sges();
            accepted_ += hca_.post_receive(*srq_, {1, sges}) == 0 ? 1 : 0;
            srq_->arm_limit(input_.byte() % 4);
            break;
        }
        case 5:
            now_ += std::chrono::microseconds{input_.number(2)};
            poll(*cqs_[input_.byte() % 2]);
            break;
        case 6: {
            QueuePair& a = some_qp();
            QueuePair& b = some_qp();
            connect(a, b, input_.byte() % 8);
            break;
        }
        case 7:
            modify();
            break;
        case 8:
            keys();
            break;
        case 9:
            cqs_[input_.byte() % 2]->arm(static_cast<Notify>(input_.byte() % 3));
            break;
        case 10:
            indirect();
            break;
        default:
            again();
        }
    }

    void post_send()
    {
        QueuePair& qp = some_qp();
        std::array<std::byte, 20> bytes{};
        SendWorkRequest work;
        work.opcode = static_cast<SendOpcode>(input_.byte() % 8);
        work.flags = static_cast<SendFlags>(input_.byte() % 16);
        const std::vector<Sge> sges = some_sges();
        work.sges = sges;
        if (has(work.flags, SendFlags::inline_data))
            work.inline_bytes = std::span{bytes}.first(input_.byte() % bytes.size());
        work.remote_address = Iova{some_address() & (input_.byte() % 2 == 0 ? ~7ULL : ~0ULL)};
        work.rkey = RKey{some_key().value};
        work.compare_add = input_.byte();
        work.remote_qpn = some_qp().number();
        work.remote_qkey = input_.byte() % 2;
        accepted_ += hca_.post_send(qp, work) == 0 ? 1 : 0;
    }

    void poll(CompletionQueue& cq)
    {
        std::array<Completion, 64> done;
        const std::size_t count = hca_.poll(cq, done);
        fuzz::require(count <= cq.capacity());
        ended_ += count;
    }

    // Brings two queue pairs up, to each other (or one to itself).
    void connect(QueuePair& a, QueuePair& b, std::uint8_t retries)
    {
        for (const auto& [qp, peer] : {std::pair{&a, &b}, std::pair{&b, &a}}) {
            const bool rc = qp->type() == QpType::rc;
            hca_.modify_qp(*qp, QpState::reset);
            hca_.modify_qp(*qp, QpState::init, rc ? to_init_rc() : QpAttributes{.qkey = 1});
            hca_.modify_qp(*qp, QpState::rtr, rc ? to_rtr_rc(peer->number()) : QpAttributes{});
            hca_.modify_qp(*qp, QpState::rts, rc ? to_rts_rc(retries, retries) : QpAttributes{.send_psn = 0});
        }
    }

    void modify()
    {
        QueuePair& qp = some_qp();
        const auto to = static_cast<QpState>(input_.byte() % 7);
        QpAttributes attributes;
        if (input_.byte() % 2 == 0)
            attributes.access = static_cast<KeyRights>(input_.byte() % 32);
        if (input_.byte() % 8 == 0)
            attributes.min_rnr_timer = input_.byte();
        hca_.modify_qp(qp, to, attributes);
    }

    void keys()
    {
        Mkey& key = keys_[input_.byte() % keys_.size()];
        switch (input_.byte() % 4) {
        case 0:
            key = hca_.reissue_mkey(key, input_.byte());
            break;
        case 1:
            hca_.invalidate_mkey(key);
            break;
        case 2:
            hca_.destroy_mkey(key);
            break;
        default:
            const std::uint8_t number = input_.byte();
            key = hca_.create_mkey(
                variant(regions_[number % 2].spec(pd_, static_cast<KeyRights>(number >> 3 | 1)), number));
        }
    }

    void indirect()
    {
        MkeySpec spec;
        spec.mode = KeyMode::klm;
        spec.pd = pd_;
        spec.rights = all_rights;
        spec.variant = input_.byte();
        const unsigned count = input_.byte() % 5;
        for (unsigned i = 0; i < count; ++i) {
            const Mkey inner = some_key();
            spec.entries.push_back({inner, Iova{some_address()}, input_.below(5000)});
            spec.length += spec.entries.back().length;
        }
        if (keys_.size() < 12)
            keys_.push_back(hca_.create_mkey(spec));
        else
            keys_[input_.byte() % 12] = hca_.fill_mkey(keys_[input_.byte() % 12], spec);
    }

    // Destroys a queue pair and makes another in its place.
    void again()
    {
        const std::size_t index = input_.byte() % qps_.size();
        const QpOptions made_with = qps_[index]->options();
        hca_.destroy_qp(qps_[index]);
        qps_[index] = hca_.create_qp(made_with);
    }

    Input input_;
    QueuePair::Clock::time_point now_{};
    MadeUpMemory memory_;
    Hca hca_;
    Pd pd_;
    std::vector<Pages> regions_;
    std::vector<std::shared_ptr<CompletionQueue>> cqs_;
    std::shared_ptr<SharedReceiveQueue> srq_;
    std::vector<std::shared_ptr<QueuePair>> qps_;
    std::vector<Mkey> keys_;
    std::size_t accepted_ = 0;
    std::size_t ended_ = 0;
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    Target{{data, size}}.run();
    return 0;
}
