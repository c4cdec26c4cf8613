// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! A program whose allocations fail on demand, by an operator new of its own (failing_allocations.cpp).
#pragma once

#include <optional>

namespace mrz::test {

//! How many allocations of this thread succeed before one fails, after which all succeed again; none: all do.
extern thread_local std::optional<unsigned> allocations_left;
//! Every allocation of this thread fails.
extern thread_local bool no_memory;

} // namespace mrz::test
