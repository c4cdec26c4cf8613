// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Every engine, each from the file of its name; five_tuple_swap from 5tswap.cpp.
#pragma once

#include "../engine.hpp"

namespace mrz::testpmd {

extern const Engine io;

} // namespace mrz::testpmd
