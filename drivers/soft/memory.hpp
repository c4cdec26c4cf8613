// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Registered memory of the software adapter.
#pragma once

#include "adapter.hpp"

#include <mrzone/device.hpp>

#include <memory>
#include <span>
#include <vector>

namespace mrz::soft {

//! As ProtectionDomain::register_many().
std::vector<std::unique_ptr<RegisteredMemory>> register_many(const std::shared_ptr<Adapter>& adapter, hca::Pd pd,
                                                             std::span<const RegisterRequest> requests);

} // namespace mrz::soft
