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

} // namespace

Domain::Domain(std::shared_ptr<DomainState> state) noexcept : state_{std::move(state)} {}

Domain Domain::open(std::string_view device)
{
    return Domain{std::make_shared<DomainState>(open_device(device, drivers()))};
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

LookUpSnapshot Domain::look_up_snapshot() const
{
    state_->require_ours("counting what look-ups find");
    return state_->look_up().snapshot();
}

void Domain::close()
{
    state_->close();
}

} // namespace mrz
