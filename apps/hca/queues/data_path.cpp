// SPDX-License-Identifier: BSD-3-Clause
#include "queues/data_path.hpp"

#include "layouts/doorbells.hpp"
#include "queues/endian.hpp"

#include <mrzone/base.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>
#include <utility>

namespace mrz::queues {
namespace {

using layouts::EventType;

// The engine has its completions only until the next turn, so it never refuses one.
constexpr std::uint32_t engine_completions = 1U << 22;
// How much of a send queue the engine has at once.
constexpr std::uint32_t engine_sends = 256;
constexpr hca::QueueLimits engine_limits = {engine_sends, 64, 1024};

[[noreturn]] void refuse_unknown(const std::string& kind, std::uint32_t number)
{
    throw Error{ENOENT,
                {Trouble::invalid, "use " + kind + " " + std::to_string(number), "there is none", {}, {}, {}}};
}

EventType type_of(hca::EventType type)
{
    switch (type) {
    case hca::EventType::cq_error:
        return EventType::cq_error;
    case hca::EventType::qp_request_error:
        return EventType::wq_inval_req_error;
    case hca::EventType::qp_access_error:
        return EventType::wq_access_error;
    case hca::EventType::sq_drained:
        return EventType::sq_drained;
    case hca::EventType::srq_limit_reached:
        return EventType::srq_rq_limit;
    case hca::EventType::qp_last_wqe_reached:
        return EventType::srq_last_wqe;
    case hca::EventType::qp_fatal:
        break;
    }
    return EventType::wq_catas_error;
}

std::shared_ptr<SharedReceiveRing> ring_of(const SharedReceiveOptions& options, dma::Bus& bus)
{
    auto ring = std::make_shared<SharedReceiveRing>(bus, options.ring);
    static_cast<void>(ring->arm_limit(options.limit));
    return ring;
}

} // namespace

DataPath::DataPath(DataPathParts parts) : parts_{std::move(parts)}, own_pd_{parts_.engine.alloc_pd()} {}

DataPath::~DataPath()
{
    try {
        for (const auto& [number, qp] : qps_)
            parts_.engine.destroy_qp(qp->engine);
        for (const auto& [number, srq] : srqs_)
            parts_.engine.destroy_srq(srq.engine);
        for (const auto& [number, cq] : cqs_)
            parts_.engine.destroy_cq(cq.engine);
        parts_.engine.dealloc_pd(own_pd_);
    } catch (const std::exception& error) {
        log(Severity::error, "a queue was left in the engine: " + std::string{error.what()});
    }
}

// ---- Doorbells ----------------------------------------------------------------------------------------------------

void DataPath::ring(std::uint32_t uar, std::uint64_t offset, std::span<const std::byte> bytes)
{
    using namespace layouts;
    if ((offset == uar_eq_arm || offset == uar_eq_consumed) && bytes.size() >= eq_doorbell::bytes) {
        const auto queue = parts_.event_queues.find(static_cast<std::uint32_t>(get(bytes, eq_doorbell::eqn)));
        if (queue && queue->options().uar == uar)
            queue->consumed(static_cast<std::uint32_t>(get(bytes, eq_doorbell::consumer_index)),
                            offset == uar_eq_arm);
    } else if (offset == uar_cq_arm && bytes.size() >= cq_arm::bytes) {
        parts_.inbox.arm({static_cast<std::uint32_t>(get(bytes, cq_arm::cqn)), uar},
                         {static_cast<std::uint32_t>(get(bytes, cq_arm::consumer_index)),
                          static_cast<std::uint8_t>(get(bytes, cq_arm::sequence)), is_set(bytes, cq_arm::solicited)});
    } else if (offset >= uar_send && offset < uar_bytes && offset % uar_send_stride == 0 && bytes.size() >= 8) {
        // What an entry begins with: the queue pair's number is in its second word.
        parts_.inbox.send({static_cast<std::uint32_t>(get(bytes, {32, 24})), uar});
    }
}

void DataPath::arm(const Rung& rung, const ArmRequest& request)
{
    const auto found = cqs_.find(rung.number);
    if (found == cqs_.end())
        return;
    if (found->second.ring->options().uar != rung.uar) {
        log_once(Severity::warning, "a completion queue was armed in a page of user access that is not its own");
        return;
    }
    found->second.ring->arm(request.consumer_index, request.sequence, request.solicited);
    look_soon(rung.number);
}

// Records say what doorbells said.
void DataPath::arm_all()
{
    for (const auto& [number, queue] : cqs_) {
        const auto word = dma::load32(parts_.bus, queue.ring->options().record + layouts::cq_record_arm);
        if (!word)
            continue;
        std::array<std::byte, 8> bytes{};
        layouts::set(bytes, {0, 32}, from_big(*word));
        queue.ring->arm(static_cast<std::uint32_t>(layouts::get(bytes, layouts::cq_arm::consumer_index)),
                        static_cast<std::uint8_t>(layouts::get(bytes, layouts::cq_arm::sequence)),
                        layouts::is_set(bytes, layouts::cq_arm::solicited));
    }
}

// ---- Commands -----------------------------------------------------------------------------------------------------

std::uint32_t DataPath::create_cq(CompletionRingOptions options)
{
    const std::lock_guard lock{mutex_};
    Inbox& inbox = parts_.inbox;
    CompletionQueue queue;
    queue.engine = parts_.engine.create_cq({std::min(engine_completions, parts_.engine.options().max_completions),
                                            [&inbox](std::uint32_t number) { inbox.completed(number); }});
    const std::uint32_t number = queue.engine->number();
    queue.engine->arm(hca::Notify::next);
    queue.ring = std::make_unique<CompletionRing>(parts_.bus, number, std::move(options));
    cqs_[number] = std::move(queue);
    return number;
}

void DataPath::destroy_cq(std::uint32_t cqn)
{
    const std::lock_guard lock{mutex_};
    parts_.engine.destroy_cq(cq(cqn).engine);
    cqs_.erase(cqn);
    held_back_.erase(cqn);
    faults_.forget_cq(cqn);
}

void DataPath::with_cq(std::uint32_t cqn, const std::function<void(CompletionRing&)>& function)
{
    const std::lock_guard lock{mutex_};
    function(*cq(cqn).ring);
    parts_.inbox.wake(); // its deadline may be another
}

void DataPath::set_completion_fault(const CompletionFault& fault)
{
    const std::lock_guard lock{mutex_};
    faults_.set(fault);
    parts_.inbox.wake();
}

DataPath::FaultyCompletions DataPath::faulty_completions() const
{
    const std::lock_guard lock{mutex_};
    return {faults_.lost(), faults_.waiting()};
}

std::uint32_t DataPath::create_srq(const SharedReceiveOptions& options)
{
    const std::lock_guard lock{mutex_};
    SharedReceives receives;
    receives.ring = ring_of(options, parts_.bus);
    receives.engine = parts_.engine.create_srq(
        {.pd = options.pd, .max_work_requests = 1, .max_sges = 64, .limit = 0, .source = receives.ring});
    const std::uint32_t number = receives.engine->number();
    srqs_[number] = std::move(receives);
    return number;
}

void DataPath::destroy_srq(std::uint32_t srqn)
{
    const std::lock_guard lock{mutex_};
    const auto found = srqs_.find(srqn);
    if (found == srqs_.end())
        refuse_unknown("shared receive queue", srqn);
    parts_.engine.destroy_srq(found->second.engine);
    srqs_.erase(found);
    watched_srqs_.erase(srqn);
}

void DataPath::arm_srq(std::uint32_t srqn, std::uint16_t limit)
{
    if (srq_ring(srqn)->arm_limit(limit))
        parts_.inbox.happened({hca::EventType::srq_limit_reached, srqn});
}

std::shared_ptr<SharedReceiveRing> DataPath::srq_ring(std::uint32_t srqn) const
{
    const std::lock_guard lock{mutex_};
    const auto found = srqs_.find(srqn);
    if (found == srqs_.end())
        refuse_unknown("shared receive queue", srqn);
    return found->second.ring;
}

std::uint32_t DataPath::create_qp(QueuePairOptions options)
{
    const std::lock_guard lock{mutex_};
    if (options.kind == QpKind::umr)
        options.pd = own_pd_;
    auto pair = std::make_unique<QueuePair>();
    hca::QpOptions engine;
    engine.type = options.kind == QpKind::ud ? hca::QpType::ud : hca::QpType::rc;
    engine.pd = options.pd;
    engine.send_cq = cq(options.send_cq).engine;
    engine.receive_cq = cq(options.receive_cq).engine;
    engine.send = engine_limits;
    engine.send.work_requests = options.send ? std::min(options.send->entries(), engine_sends) : 1;
    engine.receive = {1, 64, 0};
    engine.privileged = options.privileged;
    engine.general_services = options.general_services;
    if (options.srq) {
        const auto found = srqs_.find(*options.srq);
        if (found == srqs_.end())
            refuse_unknown("shared receive queue", *options.srq);
        engine.srq = found->second.engine;
    } else if (options.receive) {
        pair->receives = std::make_shared<ReceiveRing>(parts_.bus, *options.receive);
        engine.receive_source = pair->receives;
    }
    pair->engine = parts_.engine.create_qp(engine);
    pair->options = std::move(options);
    const std::uint32_t number = pair->engine->number();
    qps_[number] = std::move(pair);
    return number;
}

void DataPath::destroy_qp(std::uint32_t qpn)
{
    const std::lock_guard lock{mutex_};
    QueuePair& pair = qp(qpn);
    parts_.engine.destroy_qp(pair.engine);
    links_ -= pair.has_link ? 1 : 0;
    qps_.erase(qpn);
    again_.erase(qpn);
    watched_.erase(qpn);
    faults_.forget_qp(qpn);
}

void DataPath::modify_qp(std::uint32_t qpn, hca::QpState to, const hca::QpAttributes& attributes)
{
    const std::lock_guard lock{mutex_};
    QueuePair& pair = qp(qpn);
    if (pair.options.kind == QpKind::umr)
        pair.own_state = to;
    else
        parts_.engine.modify_qp(*pair.engine, to, attributes);
    if (to == hca::QpState::reset) {
        links_ -= pair.has_link ? 1 : 0;
        pair.reset();
        again_.erase(qpn);
        watched_.erase(qpn);
        faults_.forget_qp(qpn);
    } else {
        if (attributes.link && !std::exchange(pair.has_link, true))
            ++links_;
        again_.insert(qpn); // its doorbell may have been rung before
        if (to == hca::QpState::err)
            watch(qpn);
    }
    parts_.inbox.wake();
}

DataPath::QpInfo DataPath::query_qp(std::uint32_t qpn) const
{
    const std::lock_guard lock{mutex_};
    const auto found = qps_.find(qpn);
    if (found == qps_.end())
        refuse_unknown("queue pair", qpn);
    const QueuePair& pair = *found->second;
    return {pair.state(), pair.consumed, pair.receives ? pair.receives->taken() : std::uint16_t{0}};
}

DataPath::CompletionQueue& DataPath::cq(std::uint32_t cqn)
{
    const auto found = cqs_.find(cqn);
    if (found == cqs_.end())
        refuse_unknown("completion queue", cqn);
    return found->second;
}

std::optional<std::uint32_t> DataPath::uar_of(std::uint32_t number) const
{
    if (const auto found = qps_.find(number); found != qps_.end())
        return found->second->options.uar;
    if (const auto found = packet_queues_.find(number); found != packet_queues_.end())
        return found->second.options.uar;
    return std::nullopt;
}

QueuePair& DataPath::qp(std::uint32_t qpn)
{
    const auto found = qps_.find(qpn);
    if (found == qps_.end())
        refuse_unknown("queue pair", qpn);
    return *found->second;
}

// ---- What there is to do ------------------------------------------------------------------------------------------

bool DataPath::turn()
{
    const std::lock_guard lock{mutex_};
    Chores chores = parts_.inbox.take();
    if (faults_.waiting() != 0)
        write_late(parts_.now());
    for (const std::uint32_t cqn : chores.completed)
        drain(cqn);
    for (const hca::Event& event : chores.events)
        report(event);
    for (const auto& [rung, request] : chores.arms)
        arm(rung, request);
    if (chores.everything)
        arm_all();
    for (const Rung& rung : chores.sends) {
        const auto uar = uar_of(rung.number);
        if (!uar)
            continue;
        if (*uar == rung.uar)
            again_.insert(rung.number);
        else
            log_once(Severity::warning, "a queue's doorbell was rung in a page of user access not its own");
    }
    if (chores.everything) {
        for (const auto& [number, pair] : qps_)
            again_.insert(number);
        for (const auto& [number, queue] : packet_queues_)
            again_.insert(number);
    }
    for (const std::uint32_t number : std::exchange(again_, {})) {
        if (const auto found = qps_.find(number); found != qps_.end())
            pump(*found->second);
        else if (const auto packets = packet_queues_.find(number); packets != packet_queues_.end())
            pump(number, packets->second);
    }
    const Clock::time_point now = parts_.now();
    if (const auto due = parts_.engine.next_deadline(); due && *due <= now)
        parts_.engine.progress();
    tell_what_was_held_back(now);
    if (links_ != 0)
        look_at_starved();
    look_at_watched(now);
    return !again_.empty() || parts_.inbox.has_something();
}

std::optional<Clock::time_point> DataPath::deadline() const
{
    const std::lock_guard lock{mutex_};
    std::optional<Clock::time_point> nearest = parts_.engine.next_deadline();
    const auto consider = [&nearest](const std::optional<Clock::time_point>& other) {
        if (other && (!nearest || *other < *nearest))
            nearest = other;
    };
    consider(faults_.deadline());
    for (const std::uint32_t cqn : held_back_)
        consider(cqs_.at(cqn).ring->deadline());
    for (const auto* const list : {&watched_, &watched_srqs_}) {
        for (const auto& [number, watched] : *list)
            consider(watched.next);
    }
    return nearest;
}

void DataPath::tell_what_was_held_back(Clock::time_point now)
{
    std::erase_if(held_back_, [&](std::uint32_t cqn) {
        CompletionRing& ring = *cqs_.at(cqn).ring;
        ring.tick(now);
        return !ring.deadline();
    });
}

void DataPath::report(const hca::Event& event)
{
    if (event.type == hca::EventType::cq_error) {
        report_cq_error(event.number);
        return;
    }
    report(type_of(event.type), event.number, 0);
}

void DataPath::report(EventType type, std::uint32_t number, std::uint8_t kind)
{
    std::array<std::byte, layouts::eqe_qp_srq::bytes> data{};
    layouts::set(data, layouts::eqe_qp_srq::type, kind);
    layouts::set(data, layouts::eqe_qp_srq::qp_srq_n, number);
    parts_.event_queues.post(type, 0, data);
}

void DataPath::report_cq_error(std::uint32_t cqn)
{
    std::array<std::byte, layouts::eqe_cq_err::bytes> data{};
    layouts::set(data, layouts::eqe_cq_err::cqn, cqn);
    layouts::set(data, layouts::eqe_cq_err::syndrome, layouts::cq_overrun_syndrome);
    parts_.event_queues.post(EventType::cq_error, 0, data);
}

} // namespace mrz::queues
