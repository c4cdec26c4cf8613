// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Who waits for connections of the software adapter.
#pragma once

#include "adapter.hpp"

#include <mrzone/device.hpp>

#include <memory>
#include <string_view>

namespace mrz::soft {

//! As ProtectionDomain::listen().
std::unique_ptr<Listener> listen(std::shared_ptr<Adapter> adapter, hca::Pd pd, std::string_view address);

} // namespace mrz::soft
