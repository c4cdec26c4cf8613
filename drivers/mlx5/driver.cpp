// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! The direct verbs of mlx5 as a driver: adapters whose firmware takes commands from processes.
#include "capabilities.hpp"
#include "device.hpp"
#include "devx.hpp"

#include <verbs/context.hpp>
#include <verbs/device.hpp>

#include <mrzone/device.hpp>

#include <infiniband/mlx5dv.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>
#include <variant>

namespace mrz::mlx5 {
namespace {

std::vector<std::string> list()
{
    return verbs::device_names(::mlx5dv_is_supported);
}

ibv_context* open_with_devx(ibv_device* device)
{
    mlx5dv_context_attr attributes{};
    attributes.flags = MLX5DV_CONTEXT_FLAGS_DEVX;
    if (ibv_context* const context = ::mlx5dv_open_device(device, &attributes); context != nullptr)
        return context;
    return ::ibv_open_device(device); // what it lacks is told by capabilities
}

//! What this context has, or why it has no direct verbs.
std::variant<Capabilities, std::string> look_at(const verbs::Context& context)
{
    try {
        const Capabilities capabilities = query_capabilities(context);
        if (!capabilities.umems)
            return std::string{"the adapter has no umems"};
        return capabilities;
    } catch (const Refusal& refused) {
        return std::string{"the adapter takes no commands of this context (DevX): "} + std::strerror(refused.error);
    }
}

std::shared_ptr<Device> make(std::shared_ptr<verbs::Context> context, ibv_pd* adopted)
{
    const auto found = look_at(*context);
    if (const auto* const capabilities = std::get_if<Capabilities>(&found))
        return make_device(context, *capabilities, adopted);
    const std::string why = "without direct verbs, since " + std::get<std::string>(found);
    log_once(Severity::warning, "mlx5: device " + context->name() + " is used " + why +
                                    "; memory is registered by ibv_reg_mr, once for each region");
    return verbs::make_device(std::move(context), adopted, why);
}

std::shared_ptr<Device> open(std::string_view device)
{
    return make(verbs::Context::open(device, open_with_devx), nullptr);
}

std::shared_ptr<Device> adopt(ibv_pd* pd)
{
    if (!::mlx5dv_is_supported(pd->context->device))
        return nullptr;
    return make(verbs::Context::adopt(pd->context), pd);
}

} // namespace

Driver driver(); // as the table of drivers declares it

Driver driver()
{
    return {.name = "mlx5", .list = list, .open = open, .adopt = adopt};
}

} // namespace mrz::mlx5
