// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Connections of the connection manager, from either side.
#pragma once

#include "cm.hpp"

#include <mrzone/device.hpp>

#include <functional>
#include <memory>
#include <string_view>

namespace mrz::verbs {

//! As ProtectionDomain::connect().
std::unique_ptr<Connection> connect(const std::shared_ptr<Pd>& pd, std::string_view address,
                                    const ConnectOptions& options, const std::function<void(QueuePair&)>& before);

//! Answers a request that came to \p id, which has its channel for itself.
std::unique_ptr<Connection> accept(const std::shared_ptr<Pd>& pd, CmId id, const CmEvent& request,
                                   const ConnectOptions& options, const std::function<void(QueuePair&)>& before);

} // namespace mrz::verbs
