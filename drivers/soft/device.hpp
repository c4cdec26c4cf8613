// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! An adapter as a device.
#pragma once

#include "adapter.hpp"

#include <mrzone/device.hpp>

#include <memory>

namespace mrz::soft {

//! What the adapter lets a planner choose from.
inline constexpr Limits adapter_limits{.indirect = {.klm = true, .ksm = true}};

//! The device that the driver opens is over the process's own adapter; a test's may be over a smaller one, or allow
//! less.
std::shared_ptr<Device> make_device(std::shared_ptr<Adapter> adapter, const Limits& limits = adapter_limits);

} // namespace mrz::soft
