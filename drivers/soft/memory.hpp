// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Registered memory of the software adapter.
#pragma once

#include "adapter.hpp"

#include <mrzone/device.hpp>

#include <memory>

namespace mrz::soft {

//! As ProtectionDomain::register_memory().
std::unique_ptr<RegisteredMemory> register_memory(std::shared_ptr<Adapter> adapter, hca::Pd pd,
                                                  const RegisterRequest& request);

} // namespace mrz::soft
