// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Memory registered by ibv_reg_mr.
#pragma once

#include "context.hpp"

#include <mrzone/device.hpp>

#include <cstddef>
#include <memory>

namespace mrz::verbs {

//! Bytes that pinning memory keeps in place: whole pages of 4 KiB, hugepages included, as the kernel counts
//! (drivers/infiniband/core/umem.c).
std::size_t pinned_bytes(const void* address, std::size_t length) noexcept;

//! As ProtectionDomain::register_memory().
std::unique_ptr<RegisteredMemory> register_memory(const std::shared_ptr<Pd>& pd, const RegisterRequest& request);

} // namespace mrz::verbs
