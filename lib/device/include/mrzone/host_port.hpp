// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Addresses of peers as people write them, whatever a driver makes of hosts.
#pragma once

#include <mrzone/base.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace mrz {

struct HostPort {
    std::string host;       //!< Without brackets; empty where none was named.
    std::uint16_t port = 0; //!< 0 where none was named.

    friend bool operator==(const HostPort&, const HostPort&) = default;
};

//! Takes "[HOST][:PORT]" apart; an address of IPv6 is in brackets if a port follows. Nothing for what is none.
MRZ_API std::optional<HostPort> parse_host_port(std::string_view address);

} // namespace mrz
