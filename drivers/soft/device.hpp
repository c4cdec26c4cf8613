// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! An adapter as a device.
#pragma once

#include "adapter.hpp"

#include <mrzone/device.hpp>

#include <memory>

namespace mrz::soft {

//! The device that the driver opens is over the process's own adapter; a test's may be over a smaller one.
std::shared_ptr<Device> make_device(std::shared_ptr<Adapter> adapter);

} // namespace mrz::soft
