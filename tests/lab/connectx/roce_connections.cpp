// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Connections by RDMA-CM over mrz-hca's adapter as an Ethernet port, by other people's programs: the kernel's
//! datagrams between queue pairs 1 make them.
#include "peers.hpp"
#include "support/require.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace mrz::test {
namespace {

using testing::HasSubstr;

// Of the guest's adapter, by mrz-vm.
constexpr const char* address = "10.1.0.1";

class RoceConnections : public testing::Test {
  protected:
    void SetUp() override { MRZ_REQUIRE(installed("/usr/bin/rping"), "rping is missing (Debian: rdmacm-utils)"); }

    static void expect_rping(const std::string& at)
    {
        const std::string rping = "rping -a " + at + " -C 20 -S 4000";
        const ProgramResult result = server_and_client(rping + " -s", rping + " -c -v -V");
        EXPECT_EQ(result.status, 0) << result.out << result.err;
        EXPECT_THAT(result.out, HasSubstr("ping data: rdma-ping-19"));
    }
};

TEST_F(RoceConnections, CarryRping)
{
    expect_rping(address);
}

TEST_F(RoceConnections, FollowEachOther)
{
    // The server takes each client until it is ended.
    const ProgramResult result = run_in_shell("rping -s -P -a 10.1.0.1 & server=$!\n"
                                              "for client in 1 2 3; do\n"
                                              "    tries=0\n"
                                              "    until timeout 60 rping -c -a 10.1.0.1 -C 3 -V; do\n"
                                              "        tries=$((tries + 1)); [ $tries -lt 50 ] || exit 1\n"
                                              "    done\n"
                                              "done\n"
                                              "kill $server");
    EXPECT_EQ(result.status, 0) << result.out << result.err;
}

TEST_F(RoceConnections, ThatNobodyListensForAreRefused)
{
    const ProgramResult result = run_in_shell("timeout 60 rping -c -a 10.1.0.1 -p 9999 -C 1 2>&1");
    EXPECT_NE(result.status, 0);
    EXPECT_NE(result.status, 124) << "it was not answered";
    EXPECT_THAT(result.out, HasSubstr("RDMA_CM_EVENT_REJECTED"));
}

TEST_F(RoceConnections, EndWithThePeer)
{
    const ProgramResult result = run_in_shell("cd $(mktemp -d)\n"
                                              "rping -s -a 10.1.0.1 >/dev/null & server=$!\n"
                                              "sleep 3\n"
                                              "timeout 120 rping -c -a 10.1.0.1 -v >said 2>errors & client=$!\n"
                                              "tries=0\n"
                                              "until grep -qs rdma-ping-5 said; do\n"
                                              "    tries=$((tries + 1)); [ $tries -lt 300 ] || break\n"
                                              "    sleep 0.2\n"
                                              "done\n"
                                              "kill -9 $server\n"
                                              "wait $client; echo status $?\n"
                                              "cat errors");
    EXPECT_THAT(result.out, HasSubstr("DISCONNECT")) << result.err;
    EXPECT_THAT(result.out, testing::Not(HasSubstr("status 124")));
}

TEST_F(RoceConnections, OfAVlanAreInIt)
{
    const ProgramResult made =
        run_in_shell("set -e\n"
                     "device=$(ls /sys/class/infiniband/mlx5_0/device/net)\n"
                     "ip link add link $device name vlan7 type vlan id 7\n"
                     "ip link set vlan7 up\n"
                     "ip address add 10.7.0.1/24 dev vlan7\n"
                     "tries=0\n"
                     "until grep -qs ffff:0a07:0001 /sys/class/infiniband/mlx5_0/ports/1/gids/*\n"
                     "do tries=$((tries + 1)); [ $tries -lt 100 ]; sleep 0.2; done");
    ASSERT_EQ(made.status, 0) << made.out << made.err;
    expect_rping("10.7.0.1");
    static_cast<void>(run_in_shell("ip link delete vlan7"));
}

// By a service's number that is asked for, not by a connection.
TEST_F(RoceConnections, OfDatagramsAreResolved)
{
    const ProgramResult result = server_and_client("udaddy -b 10.1.0.1 -C 5", "udaddy -s 10.1.0.1 -C 5");
    EXPECT_EQ(result.status, 0) << result.out << result.err;
    EXPECT_THAT(result.out, HasSubstr("data transfers complete"));
}

} // namespace
} // namespace mrz::test
