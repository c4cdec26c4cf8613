// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! From what a key is to be to its record, or a refusal.
#pragma once

#include <hca/key_table.hpp>

namespace mrz::hca {

//! Throws Error, EINVAL. The caller fills in nesting and the number of the first translation entry.
MkeyRecord checked_record(MkeySpec spec, const KeyLimits& limits);

} // namespace mrz::hca
