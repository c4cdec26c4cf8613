// SPDX-License-Identifier: BSD-3-Clause
#include "cm.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>

#include <fcntl.h>
#include <poll.h>

namespace mrz::verbs {
namespace {

// include/rdma/ib_cm.h, enum ib_cm_rej_reason.
constexpr int no_such_service = 8;
constexpr int said_no = 28;

std::string_view text_of(std::span<const std::byte> private_data)
{
    const std::string_view text{reinterpret_cast<const char*>(private_data.data()), private_data.size()};
    return text.substr(0, text.find('\0'));
}

Error refusal(const CmEvent& event, std::string doing)
{
    Cause cause{.trouble = Trouble::peer, .what = std::move(doing), .limit = {}, .remedy = {}};
    const std::string_view said = text_of(event.private_data());
    if (event.status == said_no || (event.status == -ECONNREFUSED && !said.empty())) {
        cause.limit = "the peer refused" + (said.empty() ? std::string{} : ": " + printable(said));
        cause.remedy = "see what it says, and ask it again";
    } else if (event.status == no_such_service || event.status == -ECONNREFUSED) {
        cause.limit = "nobody listens there";
        cause.remedy = "start the other side first, and see that the port is the same";
    } else {
        cause.limit = "the peer's connection manager refused (reason " + std::to_string(event.status) + ")";
        cause.remedy = "see what the other side reports";
    }
    return Error{ECONNREFUSED, std::move(cause)};
}

} // namespace

CmChannel::CmChannel(std::shared_ptr<Context> context, const std::string& doing) : context_{std::move(context)}
{
    errno = 0;
    channel_ = ::rdma_create_event_channel();
    if (channel_ == nullptr) {
        const int error = errno == 0 ? ENODEV : errno;
        if (error == ENODEV || error == ENOENT || error == ENXIO)
            throw Error{ENOTSUP,
                        {.trouble = Trouble::unsupported,
                         .what = doing,
                         .limit = "there is no /dev/infiniband/rdma_cm",
                         .remedy = "load rdma_ucm (modprobe rdma_ucm), or let the file into the container"}};
        throw cm_failure(error, doing);
    }
    // What is told is asked for only as long as somebody has time for it.
    const int flags = ::fcntl(channel_->fd, F_GETFL);
    if (flags < 0 || ::fcntl(channel_->fd, F_SETFL, flags | O_NONBLOCK) != 0) {
        const int error = errno;
        ::rdma_destroy_event_channel(channel_);
        throw cm_failure(error, doing);
    }
}

CmChannel::~CmChannel()
{
    if (context_->is_ours())
        ::rdma_destroy_event_channel(channel_);
}

Clock::time_point deadline_after(std::chrono::milliseconds timeout)
{
    constexpr std::chrono::milliseconds longest = std::chrono::hours{24 * 365}; // else the sum overflows
    return Clock::now() + std::clamp(timeout, std::chrono::milliseconds{0}, longest);
}

std::optional<CmEvent> CmChannel::wait(Clock::time_point deadline)
{
    while (true) {
        rdma_cm_event* told = nullptr;
        if (::rdma_get_cm_event(channel_, &told) == 0) {
            CmEvent event{.type = told->event, .status = told->status, .id = told->id};
            const rdma_conn_param& parameters = told->param.conn;
            if (const auto* const said = static_cast<const std::byte*>(parameters.private_data); said != nullptr) {
                event.length = parameters.private_data_len;
                std::copy_n(said, event.length, event.data.begin());
            }
            event.responder_resources = parameters.responder_resources;
            event.initiator_depth = parameters.initiator_depth;
            ::rdma_ack_cm_event(told);
            return event;
        }
        if (errno != EAGAIN && errno != EINTR)
            throw cm_failure(errno, "waiting for news of a connection of device " + context_->name());
        const auto now = Clock::now();
        if (now >= deadline)
            return std::nullopt;
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - now).count();
        pollfd waiting{.fd = channel_->fd, .events = POLLIN, .revents = 0};
        ::poll(&waiting, 1, static_cast<int>(std::min<long long>(left, 1'000'000)));
    }
}

CmId::CmId(std::shared_ptr<CmChannel> channel, const std::string& doing) : channel_{std::move(channel)}, id_{nullptr}
{
    if (::rdma_create_id(channel_->get(), &id_, nullptr, RDMA_PS_TCP) != 0)
        throw cm_failure(errno, doing);
}

CmId::~CmId()
{
    if (id_ != nullptr && channel_->context().is_ours())
        ::rdma_destroy_id(id_);
}

void CmId::move_to(std::shared_ptr<CmChannel> channel, const std::string& doing)
{
    if (::rdma_migrate_id(id_, channel->get()) != 0)
        throw cm_failure(errno, doing);
    channel_ = std::move(channel);
}

bool CmId::is_of(const Context& context) const noexcept
{
    return id_->verbs != nullptr && context.name() == ::ibv_get_device_name(id_->verbs->device);
}

Error cm_failure(int error, std::string doing)
{
    Cause cause{.trouble = Trouble::internal, .what = std::move(doing), .limit = {}, .remedy = {}};
    switch (error) {
    case EADDRINUSE:
        cause.trouble = Trouble::busy;
        cause.limit = "another listens there already";
        cause.remedy = "choose another port, or none, so that one is chosen";
        break;
    case EADDRNOTAVAIL:
    case ENODEV:
    case ENETUNREACH:
    case EHOSTUNREACH:
    case ENOENT:
    case EAFNOSUPPORT:
        error = EHOSTUNREACH;
        cause.trouble = Trouble::unsupported;
        cause.limit = "no RDMA device has, or leads to, this address";
        cause.remedy = "give an address of an interface that has one (rdma link show, ip address show)";
        break;
    case EACCES:
    case EPERM:
        cause.trouble = Trouble::permission;
        cause.limit = "this process may not use /dev/infiniband/rdma_cm, or that port";
        cause.remedy = "try: chmod a+rw /dev/infiniband/rdma_cm, or a port from 1024 on";
        break;
    default:
        cause.limit = std::string{"the kernel: "} + std::strerror(error);
        cause.remedy = "look at the kernel's log (dmesg)";
    }
    return Error{error, std::move(cause)};
}

Error peer_failure(const std::optional<CmEvent>& event, std::string doing)
{
    const auto timed_out = [&](const char* limit) {
        return Error{ETIMEDOUT,
                     {.trouble = Trouble::peer,
                      .what = std::move(doing),
                      .limit = limit,
                      .remedy = "see that the other side accepts, and that nothing between drops UDP port 4791"}};
    };
    if (!event)
        return timed_out("the peer did not answer in time");
    switch (event->type) {
    case RDMA_CM_EVENT_REJECTED:
        return refusal(*event, std::move(doing));
    case RDMA_CM_EVENT_ADDR_ERROR:
    case RDMA_CM_EVENT_ROUTE_ERROR:
        if (event->status == -ETIMEDOUT)
            return timed_out("the peer's address cannot be found in the network");
        return cm_failure(event->status < 0 ? -event->status : EHOSTUNREACH, std::move(doing));
    case RDMA_CM_EVENT_UNREACHABLE:
        if (event->status == 0 || event->status == -ETIMEDOUT)
            return timed_out("the peer does not answer");
        return cm_failure(event->status < 0 ? -event->status : EHOSTUNREACH, std::move(doing));
    default:
        return Error{ECONNRESET,
                     {.trouble = Trouble::peer,
                      .what = std::move(doing),
                      .limit = std::string{"the peer gave up ("} + ::rdma_event_str(event->type) + ", " +
                               std::to_string(event->status) + ")",
                      .remedy = "see what the other side reports"}};
    }
}

} // namespace mrz::verbs
