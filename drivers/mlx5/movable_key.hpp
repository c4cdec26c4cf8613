// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! A key that work requests make lead elsewhere.
#pragma once

#include "memory.hpp"
#include "requester.hpp"

#include <mrzone/device.hpp>

#include <cstddef>
#include <memory>

namespace mrz::mlx5 {

//! As ProtectionDomain::create_movable_key().
std::unique_ptr<MovableRKey> create_movable_key(const std::shared_ptr<const DomainFacts>& domain,
                                                std::shared_ptr<Requester> requester, Access access,
                                                std::size_t entries);

} // namespace mrz::mlx5
