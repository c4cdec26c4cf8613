// SPDX-License-Identifier: BSD-3-Clause
#include "device.hpp"

#include "memory.hpp"
#include "movable_key.hpp"
#include "proposal.hpp"

#include <verbs/device.hpp>
#include <verbs/memory.hpp>

#include <infiniband/mlx5dv.h>

#include <cerrno>
#include <string>
#include <utility>

namespace mrz::mlx5 {
namespace {

std::uint32_t number_of(const verbs::Pd& pd)
{
    mlx5dv_pd found{};
    mlx5dv_obj object{};
    object.pd.in = pd.get();
    object.pd.out = &found;
    if (const int error = ::mlx5dv_init_obj(&object, MLX5DV_OBJ_PD); error != 0)
        throw Error{error,
                    {.trouble = Trouble::unsupported,
                     .what = "taking a protection domain of device " + pd.context()->name(),
                     .limit = "libmlx5 does not tell its number",
                     .remedy = "give a protection domain that ibv_alloc_pd() returned"}};
    return found.pdn;
}

class Mlx5Domain final : public ProtectionDomain {
  public:
    Mlx5Domain(std::shared_ptr<verbs::Pd> pd, const Capabilities& capabilities, const Limits& verbs_limits,
               DmaView view)
        : pd_{std::move(pd)}, verbs_{verbs::make_domain(pd_)}, verbs_limits_{verbs_limits},
          requester_{std::make_shared<Requester>(pd_)}
    {
        facts_ = std::make_shared<DomainFacts>(DomainFacts{.context = pd_->context(),
                                                           .pd = number_of(*pd_),
                                                           .capabilities = capabilities,
                                                           .limits = to_limits(capabilities, verbs_limits),
                                                           .view = view});
    }

    Proposal propose(const RegisterRequest& request, const Layout& layout, const PlanOptions& options,
                     const Limits& limits) override
    {
        return mlx5::propose(*facts_->pinnings, request, layout, options, limits, verbs_limits_);
    }
    std::unique_ptr<RegisteredMemory> register_memory(const RegisterRequest& request) override
    {
        if (request.plan != nullptr && request.plan->umems.empty())
            return verbs_->register_memory(request);
        return mlx5::register_memory(facts_, request);
    }
    std::unique_ptr<MovableRKey> create_movable_key(Access access, std::size_t entries) override
    {
        return mlx5::create_movable_key(facts_, requester_, access, entries);
    }
    std::unique_ptr<QueuePair> create_queue_pair(const QueuePairOptions& options) override
    {
        return verbs_->create_queue_pair(options);
    }
    std::unique_ptr<Listener> listen(std::string_view address) override { return verbs_->listen(address); }
    std::unique_ptr<Connection> connect(std::string_view address, const ConnectOptions& options,
                                        const std::function<void(QueuePair&)>& before) override
    {
        return verbs_->connect(address, options, before);
    }

  private:
    std::shared_ptr<verbs::Pd> pd_;
    std::unique_ptr<ProtectionDomain> verbs_;
    Limits verbs_limits_;
    std::shared_ptr<DomainFacts> facts_;
    std::shared_ptr<Requester> requester_;
};

class Mlx5Device final : public Device {
  public:
    Mlx5Device(std::shared_ptr<verbs::Context> context, const Capabilities& capabilities, ibv_pd* adopted)
        : context_{std::move(context)}, capabilities_{capabilities}, adopted_{adopted}, verbs_{verbs::make_device(
                                                                                            context_)}
    {
    }

    [[nodiscard]] std::string name() const override { return verbs_->name(); }
    [[nodiscard]] std::string_view driver() const override { return "mlx5"; }
    [[nodiscard]] std::string remark() const override { return verbs_->remark(); }
    [[nodiscard]] std::optional<int> numa_node() const override { return verbs_->numa_node(); }
    [[nodiscard]] Limits limits() const override { return to_limits(capabilities_, verbs_->limits()); }
    [[nodiscard]] DmaView dma_view() const noexcept override { return verbs_->dma_view(); }
    //! What is pinned is recognized by its frames.
    [[nodiscard]] bool pins_again() const override { return verbs_->dma_view() != DmaView::frames; }
    [[nodiscard]] std::unique_ptr<ProtectionDomain> allocate_domain() override
    {
        auto pd = adopted_ != nullptr ? std::make_shared<verbs::Pd>(context_, adopted_)
                                      : std::make_shared<verbs::Pd>(context_);
        return std::make_unique<Mlx5Domain>(std::move(pd), capabilities_, verbs_->limits(), verbs_->dma_view());
    }
    [[nodiscard]] std::optional<CacheCounters> cache_counters() const override { return std::nullopt; }

  private:
    std::shared_ptr<verbs::Context> context_;
    Capabilities capabilities_;
    ibv_pd* adopted_;
    std::shared_ptr<Device> verbs_;
};

} // namespace

std::shared_ptr<Device> make_device(std::shared_ptr<verbs::Context> context, const Capabilities& capabilities,
                                    ibv_pd* adopted)
{
    return std::make_shared<Mlx5Device>(std::move(context), capabilities, adopted);
}

} // namespace mrz::mlx5
