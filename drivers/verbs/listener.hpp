// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Waiting for peers of the connection manager.
#pragma once

#include "context.hpp"

#include <mrzone/device.hpp>

#include <memory>
#include <string_view>

namespace mrz::verbs {

//! As ProtectionDomain::listen().
std::unique_ptr<Listener> listen(const std::shared_ptr<Pd>& pd, std::string_view address);

} // namespace mrz::verbs
