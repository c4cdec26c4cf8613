// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Which streams there are, and which lcore has which: arithmetic over ports that are started.
#pragma once

#include "options.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace mrz::testpmd {

//! The index of the port that the packets of another go to, of \p count in order.
std::size_t destination(std::size_t index, std::size_t count, Topology topology);

//! How many of \p streams, each of \p lcores gets: as even as can be, the first the most. Lcores that would get none
//! are left out.
std::vector<std::size_t> shares(std::size_t streams, std::size_t lcores);

//! The lcores that forward: of \p workers those of ForwardOptions::lcores, or the first ForwardOptions::cores.
//! Throws Error (invalid).
std::vector<unsigned> forwarding_lcores(const ForwardOptions& options, std::span<const unsigned> workers,
                                        unsigned main_lcore);

} // namespace mrz::testpmd
