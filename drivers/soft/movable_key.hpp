// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! A key of the engine that is filled anew for each memory that it leads to.
#pragma once

#include "adapter.hpp"

#include <hca/hca.hpp>

#include <mrzone/device.hpp>

#include <cstddef>
#include <memory>

namespace mrz::soft {

//! As ProtectionDomain::create_movable_key().
std::unique_ptr<MovableRKey> create_movable_key(std::shared_ptr<Adapter> adapter, hca::Pd pd, Access access,
                                                std::size_t entries);

} // namespace mrz::soft
