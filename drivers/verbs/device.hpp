// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! A context as a device.
#pragma once

#include "context.hpp"

#include <mrzone/device.hpp>

#include <memory>
#include <string>

namespace mrz::verbs {

//! \p adopted is the application's protection domain, the only one that the device then has; or none. \p remark is
//! what else is to be known of it.
std::shared_ptr<Device> make_device(std::shared_ptr<Context> context, ibv_pd* adopted = nullptr,
                                    std::string remark = {});

std::unique_ptr<ProtectionDomain> make_domain(std::shared_ptr<Pd> pd);

} // namespace mrz::verbs
