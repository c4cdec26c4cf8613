// SPDX-License-Identifier: BSD-3-Clause
#include "listener.hpp"

#include "cm.hpp"
#include "connection.hpp"
#include "path.hpp"

#include <algorithm>
#include <cerrno>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

namespace mrz::verbs {
namespace {

constexpr int most_waiting = 128; // requests that nobody has taken

void reject(rdma_cm_id* id, std::string_view why) noexcept
{
    const std::size_t length = std::min(why.size(), most_private_data);
    ::rdma_reject(id, why.data(), static_cast<std::uint8_t>(length));
}

class VerbsRequest final : public ConnectionRequest {
  public:
    VerbsRequest(std::shared_ptr<Pd> pd, CmId id, const CmEvent& event)
        : pd_{std::move(pd)}, id_{std::move(id)}, event_{event}, peer_{id_->peer()}
    {
    }
    VerbsRequest(const VerbsRequest&) = delete;
    VerbsRequest& operator=(const VerbsRequest&) = delete;
    ~VerbsRequest() override
    {
        if (id_ && pd_->context()->is_ours())
            reject(id_->get(), "the request was dropped");
    }

    [[nodiscard]] std::span<const std::byte> private_data() const noexcept override { return event_.private_data(); }
    [[nodiscard]] std::string peer() const override { return peer_; }
    std::unique_ptr<Connection> accept(const ConnectOptions& options,
                                       const std::function<void(QueuePair&)>& before) override
    {
        CmId id = take("accepting " + peer_);
        return verbs::accept(pd_, std::move(id), event_, options, before);
    }
    void refuse(std::string_view why) override
    {
        const CmId id = take("refusing " + peer_);
        reject(id.get(), why);
    }

  private:
    CmId take(const std::string& doing)
    {
        if (!id_)
            throw Error{EALREADY,
                        {.trouble = Trouble::busy,
                         .what = doing,
                         .limit = "it was answered before",
                         .remedy = "answer each request once"}};
        CmId id = *std::move(id_);
        id_.reset();
        return id;
    }

    std::shared_ptr<Pd> pd_;
    std::optional<CmId> id_; // none: it was answered
    CmEvent event_;
    std::string peer_;
};

class VerbsListener final : public Listener {
  public:
    VerbsListener(std::shared_ptr<Pd> pd, CmId id) : pd_{std::move(pd)}, id_{std::move(id)} {}
    VerbsListener(const VerbsListener&) = delete;
    VerbsListener& operator=(const VerbsListener&) = delete;
    ~VerbsListener() override
    {
        if (!pd_->context()->is_ours())
            return;
        try {
            while (next(Clock::time_point::min())) // whose end refuses it
                ;
        } catch (const std::exception& error) {
            log(Severity::error, std::string{"verbs: "} + error.what());
        }
    }

    [[nodiscard]] std::string address() const override
    {
        const sockaddr& local = *::rdma_get_local_addr(id_.get());
        if (!is_any(local))
            return to_string(local);
        return host_of(*pd_->context()).value_or("localhost") + ':' + std::to_string(port_of(local));
    }
    std::unique_ptr<ConnectionRequest> wait(std::chrono::milliseconds timeout) override
    {
        return next(deadline_after(timeout));
    }

  private:
    std::unique_ptr<ConnectionRequest> next(Clock::time_point deadline)
    {
        const std::scoped_lock guard{mutex_};
        while (auto event = id_.channel().wait(deadline)) {
            if (event->type == RDMA_CM_EVENT_DEVICE_REMOVAL)
                throw Error{ENODEV,
                            {.trouble = Trouble::unsupported,
                             .what = "waiting for peers",
                             .limit = "device " + pd_->context()->name() + " was removed",
                             .remedy = "open another device"}};
            if (event->type != RDMA_CM_EVENT_CONNECT_REQUEST) // of one that was refused meanwhile
                continue;
            CmId id{id_.shared_channel(), event->id};
            if (!id.is_of(*pd_->context())) {
                reject(id.get(), "not this device's address");
                continue;
            }
            const std::string doing = "taking a request of " + id.peer();
            try {
                id.move_to(std::make_shared<CmChannel>(pd_->context(), doing), doing);
            } catch (const Error& error) {
                // One that cannot be served is no reason to serve nobody.
                log(Severity::warning, std::string{"verbs: a peer is refused: "} + error.what());
                reject(id.get(), "too many connections");
                continue;
            }
            return std::make_unique<VerbsRequest>(pd_, std::move(id), *event);
        }
        return nullptr;
    }

    std::shared_ptr<Pd> pd_;
    CmId id_;
    std::mutex mutex_;
};

//! Binds to every address, of IPv6 and IPv4 where there is IPv6.
void bind_to_any(const CmId& id, std::uint16_t port, const std::string& doing)
{
    if (::rdma_bind_addr(id.get(), any_address(port, AF_INET6).get()) == 0)
        return;
    const int error = errno;
    if (error == EADDRINUSE || ::rdma_bind_addr(id.get(), any_address(port, AF_INET).get()) != 0)
        throw cm_failure(error, doing);
}

} // namespace

std::unique_ptr<Listener> listen(const std::shared_ptr<Pd>& pd, std::string_view address)
{
    const std::string doing = "waiting for peers at " + std::string{address};
    const auto parsed = parse_host_port(address);
    if (!parsed)
        throw Error{EINVAL,
                    {.trouble = Trouble::invalid,
                     .what = doing,
                     .limit = "this is no address",
                     .remedy = "give [HOST][:PORT], an address of IPv6 in brackets"}};
    CmId id{std::make_shared<CmChannel>(pd->context(), doing), doing};
    if (parsed->host.empty()) {
        bind_to_any(id, parsed->port, doing);
    } else {
        if (::rdma_bind_addr(id.get(), resolve(*parsed, doing).get()) != 0)
            throw cm_failure(errno, doing);
        if (!id.is_of(*pd->context()))
            throw Error{EHOSTUNREACH,
                        {.trouble = Trouble::unsupported,
                         .what = doing,
                         .limit = "the address is not of device " + pd->context()->name(),
                         .remedy = "give one that is (ibv_devinfo -v, ip address show), or none"}};
    }
    if (::rdma_listen(id.get(), most_waiting) != 0)
        throw cm_failure(errno, doing);
    return std::make_unique<VerbsListener>(pd, std::move(id));
}

} // namespace mrz::verbs
