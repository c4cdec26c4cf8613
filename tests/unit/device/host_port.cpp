// SPDX-License-Identifier: BSD-3-Clause
#include <mrzone/host_port.hpp>

#include <gtest/gtest.h>

namespace mrz {
namespace {

TEST(HostPortText, IsTakenApart)
{
    EXPECT_EQ(parse_host_port(""), (HostPort{"", 0}));
    EXPECT_EQ(parse_host_port(":7471"), (HostPort{"", 7471}));
    EXPECT_EQ(parse_host_port("host"), (HostPort{"host", 0}));
    EXPECT_EQ(parse_host_port("10.0.0.1:65535"), (HostPort{"10.0.0.1", 65535}));
    EXPECT_EQ(parse_host_port("[fe80::1]:7"), (HostPort{"fe80::1", 7}));
    EXPECT_EQ(parse_host_port("[fe80::1]"), (HostPort{"fe80::1", 0}));
    EXPECT_EQ(parse_host_port("fe80::1"), (HostPort{"fe80::1", 0}));
    for (const char* const none :
         {"host:", "host:x", "host:65536", "host:-1", "host: 7", "[]:7", "[fe80::1", "[::1]7"})
        EXPECT_EQ(parse_host_port(none), std::nullopt) << none;
}

} // namespace
} // namespace mrz
