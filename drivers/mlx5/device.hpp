// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! A context of DevX as a device: drivers/verbs with another way to register.
#pragma once

#include "capabilities.hpp"

#include <verbs/context.hpp>

#include <mrzone/device.hpp>

#include <memory>

namespace mrz::mlx5 {

//! \p adopted is the application's protection domain, the only one that the device then has; or none.
std::shared_ptr<Device> make_device(std::shared_ptr<verbs::Context> context, const Capabilities& capabilities,
                                    ibv_pd* adopted = nullptr);

} // namespace mrz::mlx5
