// SPDX-License-Identifier: BSD-3-Clause
#include "device.hpp"

#include "connection.hpp"
#include "limits.hpp"
#include "listener.hpp"
#include "memory.hpp"
#include "queue_pair.hpp"

#include <mrzone/frames.hpp>
#include <mrzone/host.hpp>

#include <string>
#include <utility>

namespace mrz::verbs {
namespace {

class VerbsDomain final : public ProtectionDomain {
  public:
    explicit VerbsDomain(std::shared_ptr<Pd> pd) : pd_{std::move(pd)} {}

    std::unique_ptr<RegisteredMemory> register_memory(const RegisterRequest& request) override
    {
        return verbs::register_memory(pd_, request);
    }
    std::unique_ptr<QueuePair> create_queue_pair(const QueuePairOptions& options) override
    {
        auto queue_pair = std::make_unique<VerbsQueuePair>(pd_, options);
        queue_pair->initialize();
        return queue_pair;
    }
    std::unique_ptr<Listener> listen(std::string_view address) override { return verbs::listen(pd_, address); }
    std::unique_ptr<Connection> connect(std::string_view address, const ConnectOptions& options,
                                        const std::function<void(QueuePair&)>& before) override
    {
        return verbs::connect(pd_, address, options, before);
    }

  private:
    std::shared_ptr<Pd> pd_;
};

//! What the kernel plans from is physical memory, whatever the device: that of a software device is the same with a
//! constant added (limits.cpp). Decided when the device is opened, and said once where it is not to be had.
DmaView choose_view(const Context& context)
{
    if (!frames_can_be_read()) {
        log_once(Severity::warning,
                 "verbs: frames cannot be read without CAP_SYS_ADMIN, so plans for device " + context.name() +
                     " count on nothing but whole pages: it may build fewer entries than they say");
        return DmaView::unknown;
    }
    if (!is_software(context.attributes().orig_attr) && host::iommu() == host::Iommu::translating)
        log_once(Severity::warning,
                 "verbs: an IOMMU translates for this machine's devices, so plans, which are made of "
                 "frames, do not tell what device " +
                     context.name() + " builds (iommu=pt lets them)");
    return DmaView::frames;
}

Limits limits_of(const Context& context)
{
    const ibv_device_attr& attributes = context.attributes().orig_attr;
    const Limits limits = to_limits(attributes, host::max_registration_shift());
    if (has_gaps(attributes, limits))
        log_once(Severity::warning, "verbs: device " + context.name() + " has some page sizes only (page_size_cap " +
                                        format_hex(attributes.page_size_cap) +
                                        "), so it may build more entries than plans say");
    return limits;
}

class VerbsDevice final : public Device {
  public:
    VerbsDevice(std::shared_ptr<Context> context, ibv_pd* adopted, std::string remark)
        : context_{std::move(context)}, adopted_{adopted}, remark_{std::move(remark)}, limits_{limits_of(*context_)},
          view_{choose_view(*context_)}
    {
        if (remark_.empty() && is_software(context_->attributes().orig_attr))
            remark_ = "a software device: the kernel does an adapter's work";
    }

    [[nodiscard]] std::string name() const override { return context_->name(); }
    [[nodiscard]] std::string_view driver() const override { return "verbs"; }
    [[nodiscard]] std::string remark() const override { return remark_; }
    [[nodiscard]] std::optional<int> numa_node() const override
    {
        // Absent of a software device; -1 where the machine does not say.
        const auto node = host::Root{}.number("/sys/class/infiniband/" + context_->name() + "/device/numa_node");
        return node ? std::optional{static_cast<int>(*node)} : std::nullopt;
    }
    [[nodiscard]] Limits limits() const override { return limits_; }
    [[nodiscard]] DmaView dma_view() const noexcept override { return view_; }
    // ib_umem_get pins and charges whatever was pinned before.
    [[nodiscard]] bool pins_again() const override { return true; }
    [[nodiscard]] std::unique_ptr<ProtectionDomain> allocate_domain() override
    {
        return make_domain(adopted_ != nullptr ? std::make_shared<Pd>(context_, adopted_)
                                               : std::make_shared<Pd>(context_));
    }
    [[nodiscard]] std::optional<CacheCounters> cache_counters() const override { return std::nullopt; }

  private:
    std::shared_ptr<Context> context_;
    ibv_pd* adopted_;
    std::string remark_;
    Limits limits_;
    DmaView view_;
};

} // namespace

std::shared_ptr<Device> make_device(std::shared_ptr<Context> context, ibv_pd* adopted, std::string remark)
{
    return std::make_shared<VerbsDevice>(std::move(context), adopted, std::move(remark));
}

std::unique_ptr<ProtectionDomain> make_domain(std::shared_ptr<Pd> pd)
{
    return std::make_unique<VerbsDomain>(std::move(pd));
}

} // namespace mrz::verbs
