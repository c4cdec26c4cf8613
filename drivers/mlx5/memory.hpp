// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Memory registered by umems and keys over them.
#pragma once

#include "capabilities.hpp"
#include "pinning.hpp"

#include <mrzone/device.hpp>

#include <cstdint>
#include <memory>

namespace mrz::mlx5 {

//! What all registrations of a domain have.
struct DomainFacts {
    std::shared_ptr<verbs::Context> context;
    std::uint32_t pd = 0; //!< Its number, as commands have it.
    Capabilities capabilities = {};
    Limits limits = {};
    DmaView view = DmaView::frames;
    std::shared_ptr<Pinnings> pinnings = std::make_shared<Pinnings>();
};

//! As ProtectionDomain::register_memory(), for a plan that has umems.
std::unique_ptr<RegisteredMemory> register_memory(const std::shared_ptr<const DomainFacts>& domain,
                                                  const RegisterRequest& request);

} // namespace mrz::mlx5
