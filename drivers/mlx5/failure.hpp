// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Why an adapter refused a key, from the status and syndrome of its firmware.
#pragma once

#include "devx.hpp"

#include <mrzone/base.hpp>

#include <cstdint>
#include <string>

namespace mrz::mlx5 {

//! What is known when a command for a key was refused.
struct KeyFacts {
    std::string what; //!< "registering 4 KiB at 0x… with device mlx5_0".
    Refusal refusal = {};
    bool indirect = false;         //!< Of the key: whether it is over others.
    std::uint64_t entries = 0;     //!< Of an indirect key.
    std::uint64_t max_entries = 0; //!< What the device lets one have.
    unsigned max_indirection = 0;  //!< Levels of keys that the device reports.
    std::uint64_t max_mr = 0;      //!< Keys of the whole device, as it reports.
};

//! Looks at nothing but the facts.
Error explain(const KeyFacts& facts);

} // namespace mrz::mlx5
