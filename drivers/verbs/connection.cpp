// SPDX-License-Identifier: BSD-3-Clause
#include "connection.hpp"

#include "queue_pair.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <mutex>
#include <string>
#include <utility>

namespace mrz::verbs {
namespace {

//! Moves a queue pair to a state with what the connection manager knows of the path, but for what is ours to choose.
void modify(VerbsQueuePair& queue_pair, rdma_cm_id* id, ibv_qp_state state, std::uint8_t responder_resources,
            std::uint8_t initiator_depth)
{
    ibv_qp_attr attributes{};
    attributes.qp_state = state;
    int mask = 0;
    if (::rdma_init_qp_attr(id, &attributes, &mask) != 0)
        throw cm_failure(errno, "preparing a queue pair for " + to_string(*::rdma_get_peer_addr(id)));
    if ((mask & IBV_QP_ACCESS_FLAGS) != 0)
        attributes.qp_access_flags = peer_access;
    if ((mask & IBV_QP_MAX_DEST_RD_ATOMIC) != 0)
        attributes.max_dest_rd_atomic = responder_resources;
    if ((mask & IBV_QP_MAX_QP_RD_ATOMIC) != 0)
        attributes.max_rd_atomic = initiator_depth;
    if ((mask & IBV_QP_MIN_RNR_TIMER) != 0)
        attributes.min_rnr_timer = receiver_not_ready;
    // The manager's own choice takes a minute until a peer that vanished is given up.
    if ((mask & IBV_QP_TIMEOUT) != 0)
        attributes.timeout = retransmit_after;
    if ((mask & IBV_QP_RETRY_CNT) != 0)
        attributes.retry_cnt = queue_pair.options().retry;
    if ((mask & IBV_QP_RNR_RETRY) != 0)
        attributes.rnr_retry = queue_pair.options().rnr_retry;
    queue_pair.modify(attributes, mask, "connecting");
}

rdma_conn_param parameters_of(const ConnectOptions& options, const VerbsQueuePair& queue_pair,
                              std::uint8_t responder_resources, std::uint8_t initiator_depth)
{
    rdma_conn_param parameters{};
    parameters.private_data = options.private_data.data();
    parameters.private_data_len = static_cast<std::uint8_t>(options.private_data.size());
    parameters.responder_resources = responder_resources;
    parameters.initiator_depth = initiator_depth;
    parameters.flow_control = 1;
    parameters.retry_count = options.queue_pair.retry;
    parameters.rnr_retry_count = options.queue_pair.rnr_retry;
    parameters.qp_num = queue_pair.get()->qp_num;
    return parameters;
}

//! The event of one of these types; throws Error of what came in its place. \p doing is for that.
CmEvent expect(const CmId& id, std::initializer_list<rdma_cm_event_type> types, Clock::time_point deadline,
               const std::string& doing)
{
    auto event = id.channel().wait(deadline);
    if (!event || std::ranges::find(types, event->type) == types.end() || event->status != 0)
        throw peer_failure(event, doing);
    return *event;
}

class VerbsConnection final : public Connection {
  public:
    VerbsConnection(CmId id, const std::shared_ptr<Pd>& pd, const QueuePairOptions& options)
        : context_{pd->context()}, id_{std::move(id)}, queue_pair_{pd, options}
    {
        queue_pair_.set_idle([this] { look(); });
    }
    VerbsConnection(const VerbsConnection&) = delete;
    VerbsConnection& operator=(const VerbsConnection&) = delete;
    ~VerbsConnection() override { disconnect(); }

    [[nodiscard]] QueuePair& queue_pair() noexcept override { return queue_pair_; }
    [[nodiscard]] std::span<const std::byte> private_data() const noexcept override { return private_data_; }
    [[nodiscard]] std::string peer() const override { return id_.peer(); }
    [[nodiscard]] bool connected() noexcept override
    {
        look();
        return connected_.load();
    }
    void disconnect() noexcept override
    {
        if (!context_->is_ours())
            return;
        const std::scoped_lock guard{mutex_};
        end();
    }

    // ---- While it is made

    [[nodiscard]] const CmId& id() const noexcept { return id_; }
    [[nodiscard]] VerbsQueuePair& verbs() noexcept { return queue_pair_; }
    void is_connected(std::span<const std::byte> private_data)
    {
        private_data_.assign(private_data.begin(), private_data.end());
        connected_ = true;
    }

  private:
    //! What was told since the last time.
    void look() noexcept
    {
        const std::unique_lock guard{mutex_, std::try_to_lock};
        if (!guard || !connected_ || !context_->is_ours())
            return;
        try {
            while (const auto event = id_.channel().wait(Clock::time_point::min())) {
                // TIMEWAIT_EXIT comes after a disconnection, which may have been lost.
                if (event->type == RDMA_CM_EVENT_DISCONNECTED || event->type == RDMA_CM_EVENT_DEVICE_REMOVAL ||
                    event->type == RDMA_CM_EVENT_TIMEWAIT_EXIT)
                    end();
            }
            if (queue_pair_.lost_its_peer())
                end();
        } catch (const std::exception& error) {
            log(Severity::error, std::string{"verbs: "} + error.what());
            end();
        }
    }
    //! With the lock.
    void end() noexcept
    {
        if (!connected_.exchange(false))
            return;
        try {
            queue_pair_.fail(); // what is outstanding completes now, and peers reach nothing any more
        } catch (const std::exception& error) {
            log(Severity::error, std::string{"verbs: "} + error.what());
        }
        ::rdma_disconnect(id_.get()); // begins it, or answers
    }

    std::shared_ptr<Context> context_;
    CmId id_;
    VerbsQueuePair queue_pair_; // goes before the identifier, which may know its number
    std::vector<std::byte> private_data_;
    std::mutex mutex_;
    std::atomic<bool> connected_ = false;
};

int milliseconds_left(Clock::time_point deadline)
{
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    return static_cast<int>(std::clamp<long long>(left, 1, 1'000'000'000));
}

//! Finds out where the peer is and how it is reached.
void resolve_path(const CmId& id, const Context& context, SocketAddress to, Clock::time_point deadline,
                  const std::string& doing)
{
    if (::rdma_resolve_addr(id.get(), nullptr, to.get(), milliseconds_left(deadline)) != 0)
        throw cm_failure(errno, doing);
    static_cast<void>(expect(id, {RDMA_CM_EVENT_ADDR_RESOLVED}, deadline, doing));
    if (!id.is_of(context))
        throw Error{
            EHOSTUNREACH,
            {.trouble = Trouble::unsupported,
             .what = doing,
             .limit =
                 "the way there leads over device " +
                 std::string{id.get()->verbs == nullptr ? "none" : ::ibv_get_device_name(id.get()->verbs->device)} +
                 ", not " + context.name(),
             .remedy = "open that device, or give an address that this one leads to"}};
    if (::rdma_resolve_route(id.get(), milliseconds_left(deadline)) != 0)
        throw cm_failure(errno, doing);
    static_cast<void>(expect(id, {RDMA_CM_EVENT_ROUTE_RESOLVED}, deadline, doing));
}

//! Answers a request with a connection's queue pair.
void answer(VerbsConnection& connection, const Context& context, const CmEvent& request,
            const ConnectOptions& options, const std::function<void(QueuePair&)>& before, Clock::time_point deadline,
            const std::string& doing)
{
    const ibv_device_attr& limits = context.attributes().orig_attr;
    // As this side sees them: what the peer wants to read at a time, and what it stands.
    const std::uint8_t responder_resources = at_most(limits.max_qp_rd_atom, request.responder_resources);
    const std::uint8_t initiator_depth = at_most(limits.max_qp_init_rd_atom, request.initiator_depth);
    VerbsQueuePair& queue_pair = connection.verbs();
    rdma_cm_id* const cm = connection.id().get();
    modify(queue_pair, cm, IBV_QPS_INIT, responder_resources, initiator_depth);
    if (before)
        before(queue_pair);
    if (!context.is_iwarp()) {
        modify(queue_pair, cm, IBV_QPS_RTR, responder_resources, initiator_depth);
        modify(queue_pair, cm, IBV_QPS_RTS, responder_resources, initiator_depth);
    }
    rdma_conn_param parameters = parameters_of(options, queue_pair, responder_resources, initiator_depth);
    if (::rdma_accept(cm, &parameters) != 0)
        throw cm_failure(errno, doing);
    static_cast<void>(expect(connection.id(), {RDMA_CM_EVENT_ESTABLISHED}, deadline, doing));
    queue_pair.is_ready();
    connection.is_connected(request.private_data());
}

} // namespace

std::unique_ptr<Connection> connect(const std::shared_ptr<Pd>& pd, std::string_view address,
                                    const ConnectOptions& options, const std::function<void(QueuePair&)>& before)
{
    const std::string doing = "connecting to " + std::string{address};
    const Clock::time_point deadline = deadline_after(options.timeout);
    check_private_data(options.private_data, doing);
    const auto parsed = parse_host_port(address);
    if (!parsed || parsed->host.empty() || parsed->port == 0)
        throw Error{EINVAL,
                    {.trouble = Trouble::invalid,
                     .what = doing,
                     .limit = "this is no address of a peer",
                     .remedy = "give HOST:PORT, an address of IPv6 in brackets"}};
    const Context& context = *pd->context();
    CmId id{std::make_shared<CmChannel>(pd->context(), doing), doing};
    resolve_path(id, context, resolve(*parsed, doing), deadline, doing);

    const ibv_device_attr& limits = context.attributes().orig_attr;
    const std::uint8_t responder_resources = at_most(limits.max_qp_rd_atom, most_reads);
    const std::uint8_t initiator_depth = at_most(limits.max_qp_init_rd_atom, most_reads);
    auto connection = std::make_unique<VerbsConnection>(std::move(id), pd, options.queue_pair);
    VerbsQueuePair& queue_pair = connection->verbs();
    rdma_cm_id* const cm = connection->id().get();
    modify(queue_pair, cm, IBV_QPS_INIT, responder_resources, initiator_depth);
    if (before)
        before(queue_pair);
    rdma_conn_param parameters = parameters_of(options, queue_pair, responder_resources, initiator_depth);
    if (::rdma_connect(cm, &parameters) != 0)
        throw cm_failure(errno, doing);
    // iWARP's driver connects the queue pair itself, so there it is established at once.
    const CmEvent answer =
        expect(connection->id(), {RDMA_CM_EVENT_CONNECT_RESPONSE, RDMA_CM_EVENT_ESTABLISHED}, deadline, doing);
    if (answer.type == RDMA_CM_EVENT_CONNECT_RESPONSE) {
        modify(queue_pair, cm, IBV_QPS_RTR, responder_resources, initiator_depth);
        // The peer may stand fewer reads at a time than this side; of an event both are as its receiver sees them.
        const std::uint8_t depth = std::min(initiator_depth, answer.initiator_depth);
        modify(queue_pair, cm, IBV_QPS_RTS, responder_resources, depth);
        if (::rdma_establish(cm) != 0)
            throw cm_failure(errno, doing);
    }
    queue_pair.is_ready();
    connection->is_connected(answer.private_data());
    return connection;
}

std::unique_ptr<Connection> accept(const std::shared_ptr<Pd>& pd, CmId id, const CmEvent& request,
                                   const ConnectOptions& options, const std::function<void(QueuePair&)>& before)
{
    const std::string doing = "accepting " + id.peer();
    const Clock::time_point deadline = deadline_after(options.timeout);
    check_private_data(options.private_data, doing);
    auto connection = std::make_unique<VerbsConnection>(std::move(id), pd, options.queue_pair);
    try {
        answer(*connection, *pd->context(), request, options, before, deadline, doing);
    } catch (const Error& error) {
        // Who asked may have given up before: nothing works then, and this is why. What happens before a program has
        // taken the request the kernel does not tell (drivers/infiniband/core/ucma.c, ucma_event_handler); what is
        // asked of the identifier just makes no sense then.
        if (const auto event = connection->id().channel().wait(Clock::time_point::min()))
            throw peer_failure(event, doing);
        if (error.error_number() == EINVAL && error.cause().trouble == Trouble::internal)
            throw Error{ECONNABORTED,
                        {.trouble = Trouble::peer,
                         .what = doing,
                         .limit = "the peer gave up before it was answered",
                         .remedy = "answer sooner, or let it wait longer"}};
        throw;
    }
    return connection;
}

} // namespace mrz::verbs
