// SPDX-License-Identifier: BSD-3-Clause
#include "queue_pair.hpp"

#include "failure.hpp"
#include "limits.hpp"
#include "words.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <random>
#include <string>
#include <utility>

#include <endian.h>

namespace mrz::verbs {
namespace {

constexpr std::uint64_t receive_bit = 1; // of a work request's id; the others are its number

[[noreturn]] void refuse(Trouble trouble, int error, std::string what, std::string limit, std::string remedy)
{
    throw Error{
        error, {.trouble = trouble, .what = std::move(what), .limit = std::move(limit), .remedy = std::move(remedy)}};
}

void check_posted(int error, const char* what, std::uint64_t most)
{
    if (error == ENOMEM)
        throw full_queue(what, most);
    if (error != 0)
        refuse(Trouble::invalid, error, what,
               std::string{"the device's library refuses the request: "} + std::strerror(error),
               "keep to what the queue pair was made for");
}

// Every request that could be one of this kind: what the provider is to have a function for.
constexpr std::uint64_t operations = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |
                                     IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM | IBV_QP_EX_WITH_RDMA_READ |
                                     IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP | IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD;

ibv_qp_init_attr_ex wanted(ibv_pd* pd, ibv_cq* queue, const QueuePairOptions& options)
{
    ibv_qp_init_attr_ex attributes{};
    attributes.send_cq = queue;
    attributes.recv_cq = queue;
    attributes.cap = {.max_send_wr = options.send_requests,
                      .max_recv_wr = options.receive_requests,
                      .max_send_sge = options.segments,
                      .max_recv_sge = options.segments,
                      .max_inline_data = options.inline_bytes};
    attributes.qp_type = IBV_QPT_RC;
    attributes.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
    attributes.pd = pd;
    attributes.send_ops_flags = operations;
    return attributes;
}

//! Refuses what no device of that kind can be made with, before room is taken for it.
const QueuePairOptions& checked(const QueuePairOptions& options, const Context& context)
{
    if (options.rnr_retry > 7 || options.retry > 7)
        refuse(Trouble::invalid, EINVAL, "creating a queue pair", "retries are 0 to 7", "choose fewer");
    const int most = std::max(context.attributes().orig_attr.max_qp_wr, 0);
    const std::uint32_t need = std::max(options.send_requests, options.receive_requests);
    if (need > static_cast<std::uint32_t>(most))
        throw Error{EINVAL,
                    {.trouble = Trouble::unsupported,
                     .what = "creating a queue pair of device " + context.name(),
                     .limit = "the device's requests a queue (max_qp_wr of ibv_devinfo -v)",
                     .present = static_cast<std::uint64_t>(most),
                     .need = need,
                     .remedy = "make it with fewer"}};
    return options;
}

} // namespace

//! The segments of a request as verbs has them. Those of no bytes are left out: to some adapters a length of zero
//! means 2 GiB (ConnectX), and what has no bytes needs no key.
class VerbsQueuePair::Sges {
  public:
    explicit Sges(std::span<const Segment> segments)
    {
        ibv_sge* const list =
            segments.size() <= few_.size() ? few_.data() : (many_.resize(segments.size()), many_.data());
        for (const Segment& segment : segments)
            if (segment.length != 0)
                list[count_++] = {segment.iova.value(), segment.length, segment.lkey.value};
        list_ = list;
    }
    [[nodiscard]] ibv_sge* data() const noexcept { return list_; }
    [[nodiscard]] int count() const noexcept { return count_; }

  private:
    std::array<ibv_sge, 8> few_;
    std::vector<ibv_sge> many_;
    ibv_sge* list_;
    int count_ = 0;
};

VerbsQueuePair::VerbsQueuePair(std::shared_ptr<Pd> pd, const QueuePairOptions& options, Maker maker)
    : pd_{std::move(pd)}, options_{checked(options, *pd_->context())}, sends_{std::max(options.send_requests, 1U)},
      receives_{std::max(options.receive_requests, 1U)}
{
    const Context& context = *pd_->context();
    psn_ = std::random_device{}() & 0xffffff;
    const std::uint64_t completions = sends_.most() + receives_.most();
    errno = 0;
    queue_ = ::ibv_create_cq(context.get(), static_cast<int>(std::min<std::uint64_t>(completions, INT32_MAX)),
                             nullptr, nullptr, 0);
    if (queue_ == nullptr)
        throw object_failure(errno == 0 ? ENOMEM : errno, context, "creating a completion queue of");
    ibv_qp_init_attr_ex attributes = wanted(pd_->get(), queue_, options);
    errno = 0;
    queue_pair_ = maker(context.get(), &attributes);
    if (queue_pair_ != nullptr) {
        builder_ = ::ibv_qp_to_qp_ex(queue_pair_);
        return;
    }
    // Providers without these functions say so by one of several errors: then it is made without them, and a request
    // is posted as a list of one.
    attributes = wanted(pd_->get(), queue_, options);
    attributes.comp_mask = IBV_QP_INIT_ATTR_PD;
    attributes.send_ops_flags = 0;
    errno = 0;
    queue_pair_ = maker(context.get(), &attributes);
    if (queue_pair_ == nullptr) {
        const int error = errno == 0 ? ENOMEM : errno;
        destroy();
        throw object_failure(error, context, "creating a queue pair of");
    }
}

VerbsQueuePair::~VerbsQueuePair()
{
    destroy();
}

void VerbsQueuePair::destroy() noexcept
{
    if (!pd_->context()->is_ours())
        return;
    int error = queue_pair_ == nullptr ? 0 : ::ibv_destroy_qp(queue_pair_);
    if (error == 0 && queue_ != nullptr)
        error = ::ibv_destroy_cq(queue_);
    if (error != 0)
        log(Severity::error, "verbs: a queue pair could not be destroyed");
    queue_pair_ = nullptr;
    queue_ = nullptr;
}

void VerbsQueuePair::modify(ibv_qp_attr& attributes, int mask, std::string_view doing)
{
    const int error = ::ibv_modify_qp(queue_pair_, &attributes, mask);
    if (error == 0)
        return;
    const bool unreachable = error == ENETUNREACH || error == EHOSTUNREACH || error == ETIMEDOUT;
    throw Error{
        unreachable ? EHOSTUNREACH : error,
        {.trouble = unreachable ? Trouble::unsupported : Trouble::invalid,
         .what = std::string{doing} + " a queue pair of device " + pd_->context()->name(),
         .limit = std::string{"the kernel: "} + std::strerror(error),
         .remedy = "look whether the port is active and the peer's address can be reached (ibv_devinfo, ping)"}};
}

void VerbsQueuePair::initialize(unsigned access)
{
    if (pd_->context()->is_iwarp()) // an iWARP queue pair is connected by a TCP connection, and by nothing else
        return;
    port_ = choose_port(*pd_->context());
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_INIT;
    attributes.port_num = port_.number;
    attributes.qp_access_flags = access;
    modify(attributes, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS, "preparing");
}

Endpoint VerbsQueuePair::local() const
{
    Place place{.number = queue_pair_->qp_num,
                .psn = psn_,
                .lid = port_.lid,
                .mtu = static_cast<std::uint8_t>(port_.mtu),
                .ethernet = static_cast<std::uint8_t>(port_.ethernet ? 1 : 0)};
    std::copy_n(port_.gid.raw, place.gid.size(), place.gid.begin());
    return place.pack();
}

void VerbsQueuePair::connect(const Endpoint& remote)
{
    const Context& context = *pd_->context();
    const std::string what = "connecting a queue pair of device " + context.name();
    const std::optional<Place> place = Place::unpack(remote);
    if (!place)
        refuse(Trouble::invalid, EINVAL, what, "this is no endpoint of an RDMA device",
               "give it what local() of the peer returned");
    const std::scoped_lock guard{connecting_};
    if (state_ != State::fresh)
        refuse(Trouble::invalid, EISCONN, what, "it was connected already", "make a new queue pair");
    if (context.is_iwarp())
        refuse(Trouble::unsupported, ENOTSUP, what, "an iWARP device connects over TCP only",
               "use listen() and connect() of the domain");
    if (!port_.active)
        refuse(Trouble::unsupported, ENETDOWN, what, "the device has no port that is active and has an address",
               "bring its network interface up and give it an address (ip link set up, ip address add)");
    if ((place->ethernet != 0) != port_.ethernet)
        refuse(Trouble::unsupported, EHOSTUNREACH, what, "one of the two is on Ethernet, and the other is not",
               "connect devices of one network");
    const ibv_device_attr& limits = context.attributes().orig_attr;
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_RTR;
    attributes.path_mtu = std::min(port_.mtu, static_cast<ibv_mtu>(place->mtu));
    attributes.dest_qp_num = place->number;
    attributes.rq_psn = place->psn;
    attributes.max_dest_rd_atomic = at_most(limits.max_qp_rd_atom, most_reads);
    attributes.min_rnr_timer = receiver_not_ready;
    attributes.ah_attr.port_num = port_.number;
    attributes.ah_attr.dlid = place->lid;
    if (port_.ethernet) {
        attributes.ah_attr.is_global = 1;
        std::ranges::copy(place->gid, attributes.ah_attr.grh.dgid.raw);
        attributes.ah_attr.grh.sgid_index = static_cast<std::uint8_t>(port_.gid_index);
        attributes.ah_attr.grh.hop_limit = 64;
    }
    modify(attributes,
           IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
               IBV_QP_MIN_RNR_TIMER,
           "connecting");
    attributes = {};
    attributes.qp_state = IBV_QPS_RTS;
    attributes.sq_psn = psn_;
    attributes.timeout = retransmit_after;
    attributes.retry_cnt = options_.retry;
    attributes.rnr_retry = options_.rnr_retry;
    attributes.max_rd_atomic = at_most(limits.max_qp_init_rd_atom, most_reads);
    modify(attributes,
           IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
               IBV_QP_MAX_QP_RD_ATOMIC,
           "connecting");
    is_ready();
}

void VerbsQueuePair::check_size(std::span<const Segment> segments, const char* what) const
{
    if (segments.size() > options_.segments)
        throw Error{EINVAL,
                    {.trouble = Trouble::invalid,
                     .what = what,
                     .limit = "the queue pair's segments a request",
                     .present = options_.segments,
                     .need = segments.size(),
                     .remedy = "make the queue pair with more"}};
}

void VerbsQueuePair::post_send(const SendRequest& request)
{
    static constexpr const char* what = "posting a send request";
    check_size(request.segments, what);
    if (state_ == State::fresh)
        refuse(Trouble::invalid, EINVAL, what, "the queue pair is not connected", "connect it first");
    if (request.inlined)
        static_cast<void>(inline_length(request.segments, options_.inline_bytes));
    if (sends_.full())
        throw full_queue(what, sends_.most());
    Sges sges{request.segments};
    const std::uint64_t number = sends_.next(request.id);
    // rxe's provider of rdma-core 44 has the functions, but takes every segment of a list for the first.
    if (builder_ != nullptr && (sges.count() <= 1 || !is_software(pd_->context()->attributes().orig_attr)))
        post_by_builder(request, number, sges);
    else
        post_by_list(request, number, sges);
    sends_.posted();
}

void VerbsQueuePair::post_by_builder(const SendRequest& request, std::uint64_t number, const Sges& sges)
{
    static_cast<void>(to_verbs(request.opcode)); // refuses what is none, before anything is begun
    std::array<ibv_data_buf, 8> few;
    std::vector<ibv_data_buf> many;
    const auto count = static_cast<std::size_t>(sges.count());
    ibv_data_buf* const buffers =
        count <= few.size() ? few.data() : (many.resize(count), many.data()); // before the builder holds its lock
    ::ibv_wr_start(builder_);
    builder_->wr_id = number << 1;
    builder_->wr_flags = to_send_flags(request);
    const std::uint32_t immediate = ::htobe32(request.immediate);
    const std::uint64_t at = request.remote_iova.value();
    switch (request.opcode) {
    case Opcode::send:
        ::ibv_wr_send(builder_);
        break;
    case Opcode::send_with_immediate:
        ::ibv_wr_send_imm(builder_, immediate);
        break;
    case Opcode::rdma_write:
        ::ibv_wr_rdma_write(builder_, request.rkey.value, at);
        break;
    case Opcode::rdma_write_with_immediate:
        ::ibv_wr_rdma_write_imm(builder_, request.rkey.value, at, immediate);
        break;
    case Opcode::rdma_read:
        ::ibv_wr_rdma_read(builder_, request.rkey.value, at);
        break;
    case Opcode::atomic_compare_and_swap:
        ::ibv_wr_atomic_cmp_swp(builder_, request.rkey.value, at, request.compare, request.swap_or_add);
        break;
    case Opcode::atomic_fetch_and_add:
        ::ibv_wr_atomic_fetch_add(builder_, request.rkey.value, at, request.swap_or_add);
        break;
    }
    if (request.inlined) {
        for (std::size_t i = 0; i < count; ++i)
            buffers[i] = {reinterpret_cast<void*>(sges.data()[i].addr), sges.data()[i].length};
        ::ibv_wr_set_inline_data_list(builder_, count, buffers);
    } else {
        ::ibv_wr_set_sge_list(builder_, count, sges.data());
    }
    check_posted(::ibv_wr_complete(builder_), "posting a send request", sends_.most());
}

void VerbsQueuePair::post_by_list(const SendRequest& request, std::uint64_t number, Sges& sges)
{
    ibv_send_wr work{};
    work.wr_id = number << 1;
    work.sg_list = sges.data();
    work.num_sge = sges.count();
    work.opcode = to_verbs(request.opcode);
    work.send_flags = to_send_flags(request);
    work.imm_data = ::htobe32(request.immediate);
    if (request.opcode == Opcode::atomic_compare_and_swap || request.opcode == Opcode::atomic_fetch_and_add) {
        const bool adds = request.opcode == Opcode::atomic_fetch_and_add;
        work.wr.atomic = {.remote_addr = request.remote_iova.value(),
                          .compare_add = adds ? request.swap_or_add : request.compare,
                          .swap = request.swap_or_add,
                          .rkey = request.rkey.value};
    } else {
        work.wr.rdma = {.remote_addr = request.remote_iova.value(), .rkey = request.rkey.value};
    }
    ibv_send_wr* bad = nullptr;
    check_posted(::ibv_post_send(queue_pair_, &work, &bad), "posting a send request", sends_.most());
}

void VerbsQueuePair::post_receive(const ReceiveRequest& request)
{
    static constexpr const char* what = "posting a receive request";
    check_size(request.segments, what);
    if (receives_.full())
        throw full_queue(what, receives_.most());
    Sges sges{request.segments};
    ibv_recv_wr work{};
    work.wr_id = receives_.next(request.id) << 1 | receive_bit;
    work.sg_list = sges.data();
    work.num_sge = sges.count();
    ibv_recv_wr* bad = nullptr;
    check_posted(::ibv_post_recv(queue_pair_, &work, &bad), what, receives_.most());
    receives_.posted();
    // rxe looks at receives only when something arrives, or when it is told to flush.
    if (state_ == State::failed && is_software(pd_->context()->attributes().orig_attr))
        fail();
}

Completion VerbsQueuePair::translate(const ibv_wc& from) noexcept
{
    const bool receives = (from.wr_id & receive_bit) != 0;
    Completion completion{.id = (receives ? receives_ : sends_).retire(from.wr_id >> 1),
                          .status = from_verbs(from.status)};
    if (from.status == IBV_WC_RETRY_EXC_ERR)
        lost_ = true;
    if (from.status != IBV_WC_SUCCESS)
        return completion;
    completion.opcode = from_verbs(from.opcode);
    if (receives || completion.opcode == WcOpcode::rdma_read || completion.opcode == WcOpcode::atomic)
        completion.byte_length = from.byte_len;
    if ((from.wc_flags & IBV_WC_WITH_IMM) != 0)
        completion.immediate = ::be32toh(from.imm_data);
    return completion;
}

std::size_t VerbsQueuePair::poll(std::span<Completion> completions)
{
    std::array<ibv_wc, 16> batch;
    std::size_t filled = 0;
    while (filled < completions.size()) {
        const std::size_t wanted = std::min(batch.size(), completions.size() - filled);
        const int got = ::ibv_poll_cq(queue_, static_cast<int>(wanted), batch.data());
        if (got < 0 && filled != 0)
            break; // told now; the next call meets the error again
        if (got < 0)
            refuse(Trouble::internal, EIO, "polling a queue pair of device " + pd_->context()->name(),
                   "the device's library says that its completion queue is damaged", "make a new queue pair");
        for (int i = 0; i < got; ++i)
            completions[filled++] = translate(batch[static_cast<std::size_t>(i)]);
        if (static_cast<std::size_t>(got) < wanted)
            break;
    }
    if (filled == 0 && idle_) {
        // What is looked at costs a call of the kernel, so seldom; but who waits for a receive learns by this alone
        // that its peer is gone.
        const auto now = std::chrono::steady_clock::now();
        if (now - idle_at_ >= std::chrono::milliseconds{10}) {
            idle_at_ = now;
            idle_();
        }
    }
    return filled;
}

void VerbsQueuePair::fail()
{
    if (!pd_->context()->is_ours())
        return;
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_ERR;
    modify(attributes, IBV_QP_STATE, "failing");
    state_ = State::failed;
}

} // namespace mrz::verbs
