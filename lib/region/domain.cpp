// SPDX-License-Identifier: BSD-3-Clause
#include <mrzone/region.hpp>

#include "domain_state.hpp"

#include <utility>

namespace mrz {
namespace {

//! A driver's queue pair, as something that lives in a domain.
class TenantQueuePair final : public QueuePair {
  public:
    TenantQueuePair(std::shared_ptr<DomainState> state, const QueuePairOptions& options)
        : tenant_{std::move(state), "queue pair"}, inner_{tenant_.state()->domain().create_queue_pair(options)}
    {
    }

    [[nodiscard]] Endpoint local() const override { return inner_->local(); }
    void connect(const Endpoint& remote) override { inner_->connect(remote); }
    void post_send(const SendRequest& request) override { inner_->post_send(request); }
    void post_receive(const ReceiveRequest& request) override { inner_->post_receive(request); }
    std::size_t poll(std::span<Completion> completions) override { return inner_->poll(completions); }
    void fail() override { inner_->fail(); }

  private:
    Tenant tenant_; // goes after what it stands for
    std::unique_ptr<QueuePair> inner_;
};

//! A driver's connection, likewise. Its queue pair is the driver's.
class TenantConnection final : public Connection {
  public:
    TenantConnection(std::shared_ptr<DomainState> state, const std::function<std::unique_ptr<Connection>()>& make)
        : tenant_{std::move(state), "connection"}, inner_{make()}
    {
    }

    [[nodiscard]] QueuePair& queue_pair() noexcept override { return inner_->queue_pair(); }
    [[nodiscard]] std::span<const std::byte> private_data() const noexcept override { return inner_->private_data(); }
    [[nodiscard]] std::string peer() const override { return inner_->peer(); }
    [[nodiscard]] bool connected() noexcept override { return inner_->connected(); }
    void disconnect() noexcept override { inner_->disconnect(); }

  private:
    Tenant tenant_;
    std::unique_ptr<Connection> inner_;
};

class TenantRequest final : public ConnectionRequest {
  public:
    TenantRequest(std::shared_ptr<DomainState> state, std::unique_ptr<ConnectionRequest> inner)
        : tenant_{std::move(state), "request to connect"}, inner_{std::move(inner)}
    {
    }

    [[nodiscard]] std::span<const std::byte> private_data() const noexcept override { return inner_->private_data(); }
    [[nodiscard]] std::string peer() const override { return inner_->peer(); }
    std::unique_ptr<Connection> accept(const ConnectOptions& options,
                                       const std::function<void(QueuePair&)>& before) override
    {
        return std::make_unique<TenantConnection>(tenant_.state(), [&] { return inner_->accept(options, before); });
    }
    void refuse(std::string_view why) override { inner_->refuse(why); }

  private:
    Tenant tenant_;
    std::unique_ptr<ConnectionRequest> inner_;
};

class TenantListener final : public Listener {
  public:
    TenantListener(std::shared_ptr<DomainState> state, std::string_view address)
        : tenant_{std::move(state), "listener"}, inner_{tenant_.state()->domain().listen(address)}
    {
    }

    [[nodiscard]] std::string address() const override { return inner_->address(); }
    std::unique_ptr<ConnectionRequest> wait(std::chrono::milliseconds timeout) override
    {
        auto request = inner_->wait(timeout);
        if (!request)
            return nullptr;
        return std::make_unique<TenantRequest>(tenant_.state(), std::move(request));
    }

  private:
    Tenant tenant_;
    std::unique_ptr<Listener> inner_;
};

} // namespace

Domain::Domain(std::shared_ptr<DomainState> state) noexcept : state_{std::move(state)} {}

Domain Domain::open(std::string_view device)
{
    return Domain{std::make_shared<DomainState>(open_device(device, drivers()))};
}

Domain Domain::adopt(ibv_pd* pd)
{
    return Domain{std::make_shared<DomainState>(adopt_device(pd, drivers()))};
}

std::string Domain::name() const
{
    return state_->device().name();
}

std::string_view Domain::driver() const
{
    return state_->device().driver();
}

std::string Domain::reason() const
{
    return state_->reason();
}

std::optional<int> Domain::numa_node() const
{
    return state_->device().numa_node();
}

Limits Domain::limits() const
{
    return state_->device().limits();
}

DmaView Domain::dma_view() const
{
    return state_->device().dma_view();
}

bool Domain::pins_again() const
{
    return state_->device().pins_again();
}

std::optional<CacheCounters> Domain::cache_counters() const
{
    return state_->device().cache_counters();
}

std::unique_ptr<QueuePair> Domain::create_queue_pair(const QueuePairOptions& options) const
{
    return std::make_unique<TenantQueuePair>(state_, options);
}

std::unique_ptr<Listener> Domain::listen(std::string_view address) const
{
    return std::make_unique<TenantListener>(state_, address);
}

std::unique_ptr<Connection> Domain::connect(std::string_view address, const ConnectOptions& options,
                                            const std::function<void(QueuePair&)>& before) const
{
    return std::make_unique<TenantConnection>(state_,
                                              [&] { return state_->domain().connect(address, options, before); });
}

LookUpSnapshot Domain::look_up_snapshot() const
{
    state_->require_ours("counting what look-ups find");
    return state_->look_up().snapshot();
}

DomainSnapshot Domain::snapshot() const
{
    return state_->snapshot(state_->number());
}

std::uint64_t Domain::number() const noexcept
{
    return state_->number();
}

std::vector<Living> Domain::living()
{
    return Listed<DomainState>::living();
}

std::optional<DomainSnapshot> Domain::snapshot_of(std::uint64_t number)
{
    std::optional<DomainSnapshot> found;
    Listed<DomainState>::visit(number, [&](DomainState& state) { found = state.snapshot(number); });
    return found;
}

void Domain::close()
{
    state_->close();
}

} // namespace mrz
