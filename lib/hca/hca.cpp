// SPDX-License-Identifier: BSD-3-Clause
#include <hca/hca.hpp>

#include "parts.hpp"

#include <algorithm>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <utility>

namespace mrz::hca {
namespace {

using Exclusive = std::unique_lock<AccessLock>;

std::uint64_t& users_of(const NumberTable<Domain>& pds, Pd pd, const char* what)
{
    const std::shared_ptr<Domain>* const found = pds.find(static_cast<std::uint32_t>(pd));
    if (found == nullptr)
        refuse_unknown(what, "there is no protection domain " + std::to_string(static_cast<std::uint32_t>(pd)));
    return (*found)->users;
}

void check_limits(const char* what, const QueueLimits& wanted, const QueueLimits& most)
{
    const auto check = [what](const char* limit, std::uint64_t present, std::uint64_t need) {
        if (need > present)
            refuse_invalid(what, limit, present, need);
    };
    check("the adapter's most work requests", most.work_requests, wanted.work_requests);
    check("the adapter's most pieces of a work request", most.sges, wanted.sges);
    check("the adapter's most inline bytes", most.inline_bytes, wanted.inline_bytes);
}

// What is set in `from` goes to `to`.
void merge(QpAttributes& to, const QpAttributes& from)
{
    const auto set = [](auto& old, const auto& given) {
        if (given)
            old = given;
    };
    set(to.access, from.access);
    set(to.qkey, from.qkey);
    set(to.path_mtu, from.path_mtu);
    set(to.link, from.link);
    set(to.destination_qpn, from.destination_qpn);
    set(to.receive_psn, from.receive_psn);
    set(to.send_psn, from.send_psn);
    set(to.max_dest_rd_atomic, from.max_dest_rd_atomic);
    set(to.max_rd_atomic, from.max_rd_atomic);
    set(to.min_rnr_timer, from.min_rnr_timer);
    set(to.timeout, from.timeout);
    set(to.retry_count, from.retry_count);
    set(to.rnr_retry, from.rnr_retry);
}

} // namespace

Hca::Hca(Bus& bus, HcaOptions options) : parts_{std::make_unique<Parts>(bus, std::move(options))} {}

Hca::~Hca() = default;

const HcaOptions& Hca::options() const noexcept
{
    return parts_->options;
}

// ---- Protection domains -------------------------------------------------------------------------------------------

Pd Hca::alloc_pd()
{
    const Exclusive access{parts_->access};
    Pd pd{};
    static_cast<void>(parts_->pds.add([&pd](std::uint32_t number) {
        pd = Pd{number};
        return std::make_shared<Domain>();
    }));
    return pd;
}

void Hca::dealloc_pd(Pd pd)
{
    const Exclusive access{parts_->access};
    const std::uint64_t users = users_of(parts_->pds, pd, "deallocate a protection domain");
    if (users != 0)
        refuse_busy("deallocate a protection domain", "its keys and queues", users);
    parts_->pds.remove(static_cast<std::uint32_t>(pd));
}

// ---- Keys ---------------------------------------------------------------------------------------------------------

// A key counts as a user of its domain from creation to destruction; filling may move it to another.

Mkey Hca::create_mkey(MkeySpec spec)
{
    const Exclusive access{parts_->access};
    std::uint64_t& users = users_of(parts_->pds, spec.pd, "create a key");
    const Mkey key = parts_->keys.create(std::move(spec));
    ++users;
    return key;
}

Mkey Hca::create_free_mkey(Pd pd, std::optional<std::uint8_t> variant)
{
    const Exclusive access{parts_->access};
    std::uint64_t& users = users_of(parts_->pds, pd, "create a key");
    const Mkey key = parts_->keys.create_free(pd, variant);
    ++users;
    return key;
}

void Hca::destroy_mkey(Mkey key)
{
    const Exclusive access{parts_->access};
    const Pd pd = parts_->keys.query(key).pd;
    parts_->forget(key);
    parts_->keys.destroy(key);
    --users_of(parts_->pds, pd, "destroy a key");
}

Mkey Hca::reissue_mkey(Mkey key, std::optional<std::uint8_t> variant)
{
    const Exclusive access{parts_->access};
    return parts_->keys.reissue(key, variant);
}

void Hca::invalidate_mkey(Mkey key)
{
    const Exclusive access{parts_->access};
    parts_->forget(key);
    parts_->keys.invalidate(key);
}

Mkey Hca::fill_mkey(Mkey key, MkeySpec spec)
{
    const Exclusive access{parts_->access};
    std::uint64_t& users = users_of(parts_->pds, spec.pd, "fill a key");
    const Pd old_pd = parts_->keys.query(key).pd;
    parts_->forget(key);
    const Mkey filled = parts_->keys.fill(key, std::move(spec));
    ++users;
    --users_of(parts_->pds, old_pd, "fill a key");
    return filled;
}

MkeyInfo Hca::query_mkey(Mkey key) const
{
    const std::shared_lock access{parts_->access};
    return parts_->keys.query(key);
}

void Hca::Parts::forget(Mkey key)
{
    const MkeyRecord* const record = keys.find(index_of(key));
    if (record == nullptr)
        return;
    mpt_cache.forget(index_of(key), 1);
    mtt_cache.forget(record->first_translation, record->info.entry_count);
}

// ---- Queues -------------------------------------------------------------------------------------------------------

std::shared_ptr<CompletionQueue> Hca::create_cq(CqOptions options)
{
    if (options.capacity == 0 || options.capacity > parts_->options.max_completions)
        refuse_invalid("create a completion queue", "the adapter's most completions of one",
                       parts_->options.max_completions, options.capacity);
    const Exclusive access{parts_->access};
    return parts_->cqs.add(
        [&options](std::uint32_t number) { return std::make_shared<CompletionQueue>(number, std::move(options)); });
}

void Hca::destroy_cq(const std::shared_ptr<CompletionQueue>& cq)
{
    const Exclusive access{parts_->access};
    parts_->cqs.require(cq.get(), "destroy");
    const auto& qps = parts_->qps.all();
    const auto users = std::count_if(qps.begin(), qps.end(), [&cq](const auto& qp) {
        return qp.second->options().send_cq == cq || qp.second->options().receive_cq == cq;
    });
    if (users != 0)
        refuse_busy("destroy a completion queue", "the queue pairs that complete to it",
                    static_cast<std::uint64_t>(users));
    parts_->cqs.remove(cq->number());
}

std::shared_ptr<SharedReceiveQueue> Hca::create_srq(const SrqOptions& options)
{
    check_limits("create a shared receive queue", {options.max_work_requests, options.max_sges, 0},
                 parts_->options.queues);
    const Exclusive access{parts_->access};
    std::uint64_t& users = users_of(parts_->pds, options.pd, "create a shared receive queue");
    auto srq = parts_->srqs.add(
        [&options](std::uint32_t number) { return std::make_shared<SharedReceiveQueue>(number, options); });
    ++users;
    return srq;
}

void Hca::destroy_srq(const std::shared_ptr<SharedReceiveQueue>& srq)
{
    const Exclusive access{parts_->access};
    parts_->srqs.require(srq.get(), "destroy");
    const auto& qps = parts_->qps.all();
    const auto users =
        std::count_if(qps.begin(), qps.end(), [&srq](const auto& qp) { return qp.second->options().srq == srq; });
    if (users != 0)
        refuse_busy("destroy a shared receive queue", "the queue pairs that receive from it",
                    static_cast<std::uint64_t>(users));
    srq->queue().close();
    parts_->srqs.remove(srq->number());
    --users_of(parts_->pds, srq->pd(), "destroy a shared receive queue");
}

// ---- Queue pairs --------------------------------------------------------------------------------------------------

std::shared_ptr<QueuePair> Hca::create_qp(const QpOptions& options)
{
    check_limits("create a queue pair", options.send, parts_->options.queues);
    check_limits("create a queue pair", options.receive, parts_->options.queues);
    if (options.general_services && options.type != QpType::ud)
        refuse_invalid("create a queue pair", "general services are by datagrams");
    const Exclusive access{parts_->access};
    std::uint64_t& users = users_of(parts_->pds, options.pd, "create a queue pair");
    parts_->cqs.require(options.send_cq.get(), "create a queue pair with");
    parts_->cqs.require(options.receive_cq.get(), "create a queue pair with");
    if (options.srq)
        parts_->srqs.require(options.srq.get(), "create a queue pair with");
    const auto make = [&options](std::uint32_t number) { return std::make_shared<QueuePair>(number, options); };
    auto qp = options.general_services ? parts_->qps.add_as(general_services_qpn, make) : parts_->qps.add(make);
    ++users;
    return qp;
}

void Hca::destroy_qp(const std::shared_ptr<QueuePair>& qp)
{
    Aftermath after;
    {
        const Exclusive access{parts_->access};
        parts_->qps.require(qp.get(), "destroy");
        if (qp->attributes_.link)
            after.links.push_back(qp->attributes_.link);
        reset(*qp);
        parts_->qps.remove(qp->number());
        --users_of(parts_->pds, qp->pd(), "destroy a queue pair");
    }
    after.wake_waiting = true; // who waits for it waits in vain
    parts_->traffic.finish(after);
}

void Hca::reset(QueuePair& qp)
{
    qp.state_.store(QpState::reset, std::memory_order_release);
    parts_->traffic.stop_waiting(qp);
    LinkResponder::forget(qp);
    qp.asked_ = {};
    qp.attributes_ = {};
    qp.starved_.store(false);
    qp.receive_ready_.store(false);
    qp.inbound_held_ = false;
    // The completions first: polling one of them frees slots of the send queue.
    qp.options_.send_cq->purge(qp.number());
    qp.options_.receive_cq->purge(qp.number());
    qp.send_queue_.reset();
    qp.receive_queue_.reset();
    qp.last_wqe_reported_ = false;
}

void Hca::modify_qp(QueuePair& qp, QpState to, const QpAttributes& attributes)
{
    Aftermath after;
    {
        const Exclusive access{parts_->access};
        parts_->qps.require(&qp, "modify");
        const QpState from = qp.state();
        check_transition(qp.type(), from, to, attributes);
        merge(qp.attributes_, attributes);
        const std::shared_ptr<Link> link = qp.attributes_.link;
        switch (to) {
        case QpState::reset:
            reset(qp);
            break;
        case QpState::rtr:
            qp.served_.expected = qp.attributes_.receive_psn.value_or(0);
            qp.served_.told = qp.served_.expected;
            after.wake.push_back(qp.number());
            break;
        case QpState::rts:
            if (from == QpState::rtr)
                qp.asked_.first = qp.attributes_.send_psn.value_or(0);
            after.wake.push_back(qp.number());
            break;
        case QpState::sqd:
            // Within the engine nothing is in flight now. Work that waits has not begun.
            if (!link)
                parts_->traffic.stop_waiting(qp);
            if (from == QpState::rts && attributes.sq_drained_event.value_or(false)) {
                qp.asked_.report_drained = qp.asked_.sent != 0 || qp.asked_.offset != 0;
                if (!qp.asked_.report_drained)
                    after.events.push_back({EventType::sq_drained, qp.number()});
            }
            break;
        case QpState::err:
            LinkResponder::give_up(qp);
            after.failed.push_back(qp.number());
            break;
        default:
            after.wake.push_back(qp.number());
            break;
        }
        if (link)
            after.links.push_back(link);
        qp.state_.store(to, std::memory_order_release);
    }
    // Others may wait for this one to be ready.
    after.wake_waiting = parts_->traffic.waiting().any();
    parts_->traffic.finish(after);
}

QpAttributes Hca::query_qp(const QueuePair& qp) const
{
    const std::shared_lock access{parts_->access};
    return qp.attributes_;
}

// ---- The whole ----------------------------------------------------------------------------------------------------

Hca::Pause::Pause(Hca& hca) : hca_{hca}
{
    hca_.parts_->access.lock();
}

Hca::Pause::~Pause()
{
    hca_.parts_->access.unlock();
}

HcaCounters Hca::counters() const
{
    HcaCounters result;
    const LiveCounters& live = parts_->counters;
    const auto read = [](const std::atomic<std::uint64_t>& counter) {
        return counter.load(std::memory_order_relaxed);
    };
    std::transform(live.operations.begin(), live.operations.end(), result.operations.begin(), read);
    std::transform(live.failures.begin(), live.failures.end(), result.failures.begin(), read);
    result.bytes = read(live.bytes);
    result.receiver_not_ready = read(live.receiver_not_ready);
    result.datagrams_dropped = read(live.datagrams_dropped);
    result.mpt_cache = parts_->mpt_cache.counts();
    result.mtt_cache = parts_->mtt_cache.counts();
    const std::shared_lock access{parts_->access};
    result.keys = parts_->keys.size();
    result.translations = parts_->keys.translations();
    return result;
}

} // namespace mrz::hca
