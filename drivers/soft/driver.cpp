// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! The software adapter as a driver: one device, "soft", on every machine.
#include "device.hpp"

#include "connection.hpp"
#include "listener.hpp"
#include "memory.hpp"
#include "movable_key.hpp"
#include "queue_pair.hpp"

#include <mrzone/device.hpp>

#include <cerrno>
#include <string>
#include <utility>

namespace mrz::soft {
namespace {

constexpr std::string_view device_name = "soft";

class SoftDomain final : public ProtectionDomain {
  public:
    explicit SoftDomain(std::shared_ptr<Adapter> adapter)
        : adapter_{std::move(adapter)}, pd_{adapter_->engine().alloc_pd()}
    {
    }
    SoftDomain(const SoftDomain&) = delete;
    SoftDomain& operator=(const SoftDomain&) = delete;
    ~SoftDomain() override
    {
        if (!adapter_->is_here())
            return;
        try {
            adapter_->engine().dealloc_pd(pd_);
        } catch (const std::exception& error) {
            log(Severity::error, std::string{"soft: a domain is left behind: "} + error.what());
        }
    }

    std::unique_ptr<RegisteredMemory> register_memory(const RegisterRequest& request) override
    {
        return std::move(soft::register_many(adapter_, pd_, {&request, 1}).front());
    }
    std::vector<std::unique_ptr<RegisteredMemory>> register_many(std::span<const RegisterRequest> requests) override
    {
        return soft::register_many(adapter_, pd_, requests);
    }
    std::unique_ptr<MovableRKey> create_movable_key(Access access, std::size_t entries) override
    {
        return soft::create_movable_key(adapter_, pd_, access, entries);
    }
    std::unique_ptr<QueuePair> create_queue_pair(const QueuePairOptions& options) override
    {
        return soft::create_queue_pair(adapter_, pd_, options);
    }
    std::unique_ptr<Listener> listen(std::string_view address) override
    {
        return soft::listen(adapter_, pd_, address);
    }
    std::unique_ptr<Connection> connect(std::string_view address, const ConnectOptions& options,
                                        const std::function<void(QueuePair&)>& before) override
    {
        return soft::connect(adapter_, pd_, address, options, before);
    }

  private:
    std::shared_ptr<Adapter> adapter_;
    hca::Pd pd_;
};

class SoftDevice final : public Device {
  public:
    SoftDevice(std::shared_ptr<Adapter> adapter, const Limits& limits) : adapter_{std::move(adapter)}, limits_{limits}
    {
    }

    [[nodiscard]] std::string name() const override { return std::string{device_name}; }
    [[nodiscard]] std::string_view driver() const override { return "soft"; }
    [[nodiscard]] std::optional<int> numa_node() const override { return std::nullopt; }
    [[nodiscard]] Limits limits() const override { return limits_; }
    [[nodiscard]] DmaView dma_view() const noexcept override { return adapter_->view(); }
    // For pages of 4 KiB; io_uring charges a hugepage once a ring, but which ring a region comes to is not known.
    // What is only locked is charged once.
    [[nodiscard]] bool pins_again() const override { return adapter_->pinner().holds_frames(); }
    [[nodiscard]] std::unique_ptr<ProtectionDomain> allocate_domain() override
    {
        return std::make_unique<SoftDomain>(adapter_);
    }
    [[nodiscard]] std::optional<CacheCounters> cache_counters() const override
    {
        const hca::HcaCounters counters = adapter_->engine().counters();
        return CacheCounters{.mtt_hits = counters.mtt_cache.hits,
                             .mtt_misses = counters.mtt_cache.misses,
                             .mpt_hits = counters.mpt_cache.hits,
                             .mpt_misses = counters.mpt_cache.misses};
    }

  private:
    std::shared_ptr<Adapter> adapter_;
    Limits limits_;
};

std::vector<std::string> list()
{
    return {std::string{device_name}};
}

std::shared_ptr<Device> open(std::string_view device)
{
    if (device != device_name)
        throw Error{ENODEV,
                    {.trouble = Trouble::unsupported,
                     .what = "opening device " + std::string{device},
                     .limit = "the software adapter's only device is " + std::string{device_name},
                     .remedy = "open " + std::string{device_name}}};
    return make_device(Adapter::get());
}

} // namespace

std::shared_ptr<Device> make_device(std::shared_ptr<Adapter> adapter, const Limits& limits)
{
    return std::make_shared<SoftDevice>(std::move(adapter), limits);
}

Driver driver(); // as the table of drivers declares it

Driver driver()
{
    return {.name = "soft", .list = list, .open = open};
}

} // namespace mrz::soft
