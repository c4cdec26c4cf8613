// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Counts as testpmd writes them, for those who read its output by programs. No I/O.
#pragma once

#include "forward_counts.hpp"

#include <rte_ethdev.h>

#include <chrono>
#include <cstdint>
#include <string>

namespace mrz::testpmd {

//! Which of the counts mean something.
struct CountKinds {
    bool checksums = false; //!< The engine counts those that the device found wrong.
    bool keys = false;      //!< Keys are looked up.
};

std::string port_forward_text(std::uint16_t port, const ForwardCounts& counts, CountKinds kinds);
std::string sum_forward_text(const ForwardCounts& sum, CountKinds kinds);

struct StreamPath {
    std::uint16_t rx_port = 0;
    std::uint16_t rx_queue = 0;
    std::uint16_t tx_port = 0;
    std::uint16_t tx_queue = 0;
};
//! Nothing for a stream that did nothing, as testpmd.
std::string stream_forward_text(const StreamPath& path, const ForwardCounts& counts, CountKinds kinds);

//! What a port counts, and its rates since \p before; zero where \p elapsed is.
std::string device_statistics_text(std::uint16_t port, const rte_eth_stats& now, const rte_eth_stats& before,
                                   std::chrono::nanoseconds elapsed);

} // namespace mrz::testpmd
