// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! What came of forwarding, in numbers.
#pragma once

#include "stream.hpp"

#include <cstdint>

namespace mrz::testpmd {

//! What a stream, a port, or all together did.
struct ForwardCounts {
    std::uint64_t rx_packets = 0;
    std::uint64_t rx_dropped = 0; //!< For which the device had no room.
    std::uint64_t rx_errors = 0;
    std::uint64_t rx_no_buffer = 0;
    std::uint64_t tx_packets = 0;
    std::uint64_t tx_dropped = 0;
    std::uint64_t bad_ip_sum = 0;
    std::uint64_t bad_l4_sum = 0;
    std::uint64_t keys_found = 0;
    std::uint64_t keys_missing = 0;

    ForwardCounts& operator+=(const ForwardCounts& other) noexcept;
    //! \p earlier is what these counts were before.
    ForwardCounts& operator-=(const ForwardCounts& earlier) noexcept;
};

//! What a stream counts by itself, since it began.
ForwardCounts counts_of(const Stream& stream) noexcept;

} // namespace mrz::testpmd
