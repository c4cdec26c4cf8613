// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Every engine, each from the file of its name; five_tuple_swap from 5tswap.cpp.
#pragma once

#include "../engine.hpp"

namespace mrz::testpmd {

extern const Engine io;
extern const Engine mac;
extern const Engine macswap;
extern const Engine rxonly;
extern const Engine txonly;
extern const Engine flowgen;
extern const Engine icmpecho;
extern const Engine csum;
extern const Engine five_tuple_swap;

} // namespace mrz::testpmd
