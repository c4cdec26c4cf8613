// SPDX-License-Identifier: BSD-3-Clause
#include "queue_pair.hpp"

#include "words.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <sched.h>

namespace mrz::soft {
namespace {

// What an endpoint says.
struct Place {
    std::array<char, 4> kind = {'s', 'o', 'f', 't'};
    std::uint32_t number = 0;
    std::uint64_t adapter = 0;
};

[[noreturn]] void refuse(Trouble trouble, int error, std::string what, std::string limit, std::string remedy)
{
    throw Error{
        error, {.trouble = trouble, .what = std::move(what), .limit = std::move(limit), .remedy = std::move(remedy)}};
}

void check_posted(int error, const char* what, std::uint64_t present)
{
    if (error == 0)
        return;
    if (error == ENOMEM)
        throw full_queue(what, present);
    refuse(Trouble::invalid, error, what,
           "the queue pair's state, its segments a request or its inline bytes do not allow it",
           "connect it first, and keep to its options");
}

class SoftQueuePair final : public LinkableQueuePair {
  public:
    SoftQueuePair(std::shared_ptr<Adapter> adapter, hca::Pd pd, const QueuePairOptions& options)
        : adapter_{std::move(adapter)}, options_{options}
    {
        if (options.rnr_retry > 7 || options.retry > 7)
            refuse(Trouble::invalid, EINVAL, "creating a queue pair", "retries are 0 to 7", "choose fewer");
        hca::Hca& engine = adapter_->engine();
        // One for both sides, so that completions come in order.
        cq_ = engine.create_cq({.capacity = options.send_requests + options.receive_requests});
        try {
            qp_ = engine.create_qp({.type = hca::QpType::rc,
                                    .pd = pd,
                                    .send_cq = cq_,
                                    .receive_cq = cq_,
                                    .send = {options.send_requests, options.segments, options.inline_bytes},
                                    .receive = {options.receive_requests, options.segments, 0}});
            try {
                engine.modify_qp(*qp_, hca::QpState::init,
                                 {.access = hca::KeyRights::remote_read | hca::KeyRights::remote_write |
                                            hca::KeyRights::remote_atomic});
            } catch (...) {
                engine.destroy_qp(qp_);
                throw;
            }
        } catch (...) {
            engine.destroy_cq(cq_);
            throw;
        }
    }
    SoftQueuePair(const SoftQueuePair&) = delete;
    SoftQueuePair& operator=(const SoftQueuePair&) = delete;
    ~SoftQueuePair() override
    {
        if (!adapter_->is_here())
            return;
        try {
            adapter_->engine().destroy_qp(qp_);
            adapter_->engine().destroy_cq(cq_);
        } catch (const std::exception& error) { // nobody else destroys them, so only for want of memory
            log(Severity::error, std::string{"soft: a queue pair could not be destroyed: "} + error.what());
        }
    }

    [[nodiscard]] Endpoint local() const override
    {
        const Place place{.number = qp_->number(), .adapter = adapter_->token()};
        Endpoint endpoint;
        endpoint.bytes.resize(sizeof place);
        std::memcpy(endpoint.bytes.data(), &place, sizeof place);
        return endpoint;
    }

    void connect(const Endpoint& remote) override
    {
        static constexpr const char* what = "connecting a queue pair of the software adapter";
        Place place;
        if (remote.bytes.size() != sizeof place)
            refuse(Trouble::invalid, EINVAL, what, "this is no endpoint of a software adapter",
                   "give it what local() of the peer returned");
        std::memcpy(&place, remote.bytes.data(), sizeof place);
        if (place.kind != Place{}.kind)
            refuse(Trouble::invalid, EINVAL, what, "this is no endpoint of a software adapter",
                   "give it what local() of the peer returned");
        if (place.adapter != adapter_->token())
            refuse(Trouble::unsupported, EHOSTUNREACH, what, "the endpoint is of another process",
                   "connect queue pairs of one process");
        bring_up(place.number, {}, what);
    }
    [[nodiscard]] std::uint32_t number() const noexcept override { return qp_->number(); }
    void join(std::shared_ptr<hca::Link> link, std::uint32_t peer) override
    {
        bring_up(peer, link, "connecting a queue pair of the software adapter");
        link_ = std::move(link);
    }

    void post_send(const SendRequest& request) override
    {
        static constexpr const char* what = "posting a send request";
        check_here(what);
        hca::SendWorkRequest work;
        work.id = request.id;
        work.opcode = to_engine(request.opcode);
        if (request.signaled)
            work.flags = work.flags | hca::SendFlags::signaled;
        if (request.solicited)
            work.flags = work.flags | hca::SendFlags::solicited;
        if (request.fence)
            work.flags = work.flags | hca::SendFlags::fence;
        work.immediate = request.immediate;
        work.remote_address = request.remote_iova;
        work.rkey = request.rkey;
        const bool adds = request.opcode == Opcode::atomic_fetch_and_add;
        work.compare_add = adds ? request.swap_or_add : request.compare;
        work.swap = request.swap_or_add;

        std::vector<hca::Sge> sges;
        std::vector<std::byte> copied;
        if (request.inlined) {
            work.flags = work.flags | hca::SendFlags::inline_data;
            copied = copy(request.segments);
            work.inline_bytes = copied;
        } else {
            sges = to_sges(request.segments);
            work.sges = sges;
        }
        check_posted(adapter_->engine().post_send(*qp_, work), what, options_.send_requests);
    }

    void post_receive(const ReceiveRequest& request) override
    {
        static constexpr const char* what = "posting a receive request";
        check_here(what);
        // The engine frees a receive's place when it is used, not when it is polled: then completions could be lost.
        if (receives_.fetch_add(1) >= options_.receive_requests) {
            receives_.fetch_sub(1);
            check_posted(ENOMEM, what, options_.receive_requests);
        }
        try {
            const std::vector<hca::Sge> sges = to_sges(request.segments);
            check_posted(adapter_->engine().post_receive(*qp_, {.id = request.id, .sges = sges}), what,
                         options_.receive_requests);
        } catch (...) {
            receives_.fetch_sub(1);
            throw;
        }
    }

    std::size_t poll(std::span<Completion> completions) override
    {
        std::array<hca::Completion, 32> batch;
        std::size_t filled = 0;
        if (link_) {
            if (!adapter_->is_here())
                return 0;
            link_->attend();
            adapter_->engine().progress(*link_);
        }
        while (filled < completions.size()) {
            const std::size_t wanted = std::min(batch.size(), completions.size() - filled);
            const std::size_t got = adapter_->engine().poll(*cq_, std::span{batch}.first(wanted));
            for (std::size_t i = 0; i < got; ++i)
                completions[filled++] = translate(batch[i]);
            if (got < wanted)
                break;
        }
        if (link_)
            give_way(filled != 0);
        return filled;
    }

    void fail() override
    {
        check_here("failing a queue pair");
        adapter_->engine().modify_qp(*qp_, hca::QpState::err);
    }

  private:
    // Whoever polls in vain may be keeping the peer from the very CPU that it needs: where there are fewer CPUs than
    // threads that poll, an answer would take until the scheduler's next turn, which is milliseconds.
    void give_way(bool found) noexcept
    {
        static constexpr std::uint32_t in_vain = 64;
        const std::uint32_t polls = found ? 0 : in_vain_.load(std::memory_order_relaxed) + 1;
        in_vain_.store(polls, std::memory_order_relaxed);
        if (polls != 0 && polls % in_vain == 0)
            ::sched_yield();
    }
    // What a child of fork() posted would be written into the rings that are its parent's.
    void check_here(const char* what) const
    {
        if (link_ && !adapter_->is_here())
            refuse(Trouble::unsupported, ENOTSUP, what, "the connection is the parent's of this process",
                   "connect in the process that is to use it");
    }
    void bring_up(std::uint32_t peer, std::shared_ptr<hca::Link> link, const char* what)
    {
        const std::scoped_lock guard{connecting_};
        if (qp_->state() != hca::QpState::init)
            refuse(Trouble::invalid, EISCONN, what, "it was connected already", "make a new queue pair");
        hca::Hca& engine = adapter_->engine();
        engine.modify_qp(*qp_, hca::QpState::rtr,
                         {.path_mtu = 4096,
                          .link = std::move(link),
                          .destination_qpn = peer,
                          .receive_psn = 0,
                          .max_dest_rd_atomic = 16,
                          .min_rnr_timer = 1}); // 0.01 ms
        engine.modify_qp(*qp_, hca::QpState::rts,
                         {.send_psn = 0,
                          .max_rd_atomic = 16,
                          .timeout = 14, // 67 ms
                          .retry_count = options_.retry,
                          .rnr_retry = options_.rnr_retry});
    }
    static std::vector<hca::Sge> to_sges(std::span<const Segment> segments)
    {
        std::vector<hca::Sge> sges;
        sges.reserve(segments.size());
        for (const Segment& segment : segments)
            sges.push_back({segment.iova, segment.length, segment.lkey});
        return sges;
    }
    [[nodiscard]] std::vector<std::byte> copy(std::span<const Segment> segments) const
    {
        std::vector<std::byte> bytes;
        bytes.reserve(inline_length(segments, options_.inline_bytes));
        for (const Segment& segment : segments) {
            const auto* const from = reinterpret_cast<const std::byte*>(segment.iova.value());
            bytes.insert(bytes.end(), from, from + segment.length);
        }
        return bytes;
    }
    Completion translate(const hca::Completion& from)
    {
        if (from.opcode == hca::WcOpcode::receive || from.opcode == hca::WcOpcode::receive_rdma_with_immediate)
            receives_.fetch_sub(1);
        Completion completion{.id = from.id,
                              .status = soft::from_engine(from.status),
                              .opcode = soft::from_engine(from.opcode),
                              .byte_length = from.byte_length,
                              .immediate = {}};
        if (from.has_immediate)
            completion.immediate = from.immediate;
        return completion;
    }

    std::shared_ptr<Adapter> adapter_;
    const QueuePairOptions options_;
    std::shared_ptr<hca::CompletionQueue> cq_;
    std::shared_ptr<hca::QueuePair> qp_;
    std::shared_ptr<hca::Link> link_; // none within the process
    std::mutex connecting_;
    std::atomic<std::uint32_t> receives_ = 0; // posted and not yet polled
    std::atomic<std::uint32_t> in_vain_ = 0;  // polls in a row
};

} // namespace

std::unique_ptr<LinkableQueuePair> create_queue_pair(std::shared_ptr<Adapter> adapter, hca::Pd pd,
                                                     const QueuePairOptions& options)
{
    return std::make_unique<SoftQueuePair>(std::move(adapter), pd, options);
}

} // namespace mrz::soft
