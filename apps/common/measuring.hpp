// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! What programs that measure have in common.
#pragma once

#include <vector>

namespace mrz::app {

//! 0 of none.
double median(std::vector<double> values);
//! That this process has taken, of all its threads, in user mode and in the kernel.
double processor_seconds() noexcept;

} // namespace mrz::app
