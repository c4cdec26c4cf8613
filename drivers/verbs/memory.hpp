// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Memory registered by ibv_reg_mr.
#pragma once

#include "context.hpp"

#include <mrzone/device.hpp>

#include <memory>

namespace mrz::verbs {

//! As ProtectionDomain::register_memory().
std::unique_ptr<RegisteredMemory> register_memory(const std::shared_ptr<Pd>& pd, const RegisterRequest& request);

} // namespace mrz::verbs
