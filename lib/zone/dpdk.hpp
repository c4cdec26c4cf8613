// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! What the EAL is, and its refusals as our errors.
#pragma once

#include <mrzone/base.hpp>

#include <string>
#include <string_view>

namespace mrz {

//! Throws Error (unsupported, ENODEV) unless the application has started the EAL.
void require_eal();

//! Whether this is a secondary process of another EAL.
bool is_secondary();

//! Throws Error (invalid) unless \p name is 1 to 31 characters, what DPDK has room for.
void check_name(std::string_view what, std::string_view name);

//! The rte_errno that a DPDK call has just left, as an Error. \p what says what was asked for.
[[nodiscard]] Error dpdk_error(int error_number, std::string what);

} // namespace mrz
