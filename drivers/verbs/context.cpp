// SPDX-License-Identifier: BSD-3-Clause
#include "context.hpp"

#include "failure.hpp"

#include <mrzone/host.hpp>

#include <cerrno>
#include <cstring>
#include <utility>

namespace mrz::verbs {
namespace {

//! Every device; empty where the kernel has none.
class DeviceList {
  public:
    DeviceList()
    {
        // What asks libibverbs loads all of its providers, which takes milliseconds, and may warn about limits on
        // standard error.
        const auto there = host::Root{}.names("/sys/class/infiniband_verbs");
        if (!there || there->empty())
            return;
        int count = 0;
        devices_ = ::ibv_get_device_list(&count);
        count_ = devices_ != nullptr && count > 0 ? static_cast<std::size_t>(count) : 0;
    }
    DeviceList(const DeviceList&) = delete;
    DeviceList& operator=(const DeviceList&) = delete;
    ~DeviceList()
    {
        if (devices_ != nullptr)
            ::ibv_free_device_list(devices_);
    }
    [[nodiscard]] ibv_device** begin() const noexcept { return devices_; }
    [[nodiscard]] ibv_device** end() const noexcept { return devices_ + count_; }

  private:
    ibv_device** devices_ = nullptr;
    std::size_t count_ = 0;
};

} // namespace

std::vector<std::string> device_names(bool (*wanted)(ibv_device*))
{
    std::vector<std::string> names;
    for (ibv_device* const device : DeviceList{})
        if (wanted == nullptr || wanted(device))
            names.emplace_back(::ibv_get_device_name(device));
    return names;
}

std::shared_ptr<Context> Context::open(std::string_view device, ibv_context* (*opener)(ibv_device*))
{
    for (ibv_device* const candidate : DeviceList{}) {
        if (device != ::ibv_get_device_name(candidate))
            continue;
        errno = 0;
        ibv_context* const context = opener != nullptr ? opener(candidate) : ::ibv_open_device(candidate);
        if (context == nullptr)
            throw open_failure(errno == 0 ? EIO : errno, device, candidate->dev_name);
        std::unique_ptr<Context> opened;
        try {
            opened.reset(new Context{context, true});
        } catch (...) {
            ::ibv_close_device(context);
            throw;
        }
        return opened;
    }
    throw Error{ENODEV,
                {.trouble = Trouble::unsupported,
                 .what = "opening device " + std::string{device},
                 .limit = "libibverbs has no such device",
                 .remedy = "look at what ibv_devices says; a device needs its rdma-core provider (Debian: "
                           "ibverbs-providers)"}};
}

std::shared_ptr<Context> Context::adopt(ibv_context* context)
{
    return std::shared_ptr<Context>{new Context{context, false}};
}

Context::Context(ibv_context* context, bool owned)
    : context_{context}, owned_{owned}, name_{::ibv_get_device_name(context->device)}
{
    if (const int error = ::ibv_query_device_ex(context_, nullptr, &attributes_); error != 0)
        throw Error{error,
                    {.trouble = Trouble::internal,
                     .what = "asking device " + name_ + " what it can",
                     .limit = std::string{"the kernel: "} + std::strerror(error),
                     .remedy = "look at the kernel's log (dmesg)"}};
}

Context::~Context()
{
    if (owned_ && is_ours() && ::ibv_close_device(context_) != 0)
        log(Severity::error, "verbs: device " + name_ + " could not be closed");
}

bool Context::is_iwarp() const noexcept
{
    return context_->device->transport_type == IBV_TRANSPORT_IWARP;
}

Pd::Pd(std::shared_ptr<Context> context) : context_{std::move(context)}, owned_{true}
{
    errno = 0;
    pd_ = ::ibv_alloc_pd(context_->get());
    if (pd_ == nullptr)
        throw object_failure(errno == 0 ? ENOMEM : errno, *context_, "allocating a protection domain of");
}

Pd::Pd(std::shared_ptr<Context> context, ibv_pd* adopted) noexcept
    : context_{std::move(context)}, pd_{adopted}, owned_{false}
{
}

Pd::~Pd()
{
    if (!owned_ || !context_->is_ours())
        return;
    if (const int error = ::ibv_dealloc_pd(pd_); error != 0)
        log(Severity::error,
            "verbs: a protection domain of " + context_->name() + " is left behind: " + std::strerror(error));
}

} // namespace mrz::verbs
