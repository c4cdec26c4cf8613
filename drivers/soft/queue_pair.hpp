// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Queue pairs of the software adapter: between endpoints of this process.
#pragma once

#include "adapter.hpp"

#include <mrzone/device.hpp>

#include <memory>

namespace mrz::soft {

//! As ProtectionDomain::create_queue_pair().
std::unique_ptr<QueuePair> create_queue_pair(std::shared_ptr<Adapter> adapter, hca::Pd pd,
                                             const QueuePairOptions& options);

} // namespace mrz::soft
