// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! mrz-hca's adapter, mlx5_0, by other people's programs over the kernel's and rdma-core's own drivers.
#include "peers.hpp"
#include "support/require.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace mrz::test {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;

//! Of a program that exchanges messages between a server and a client of its own.
struct Exchange {
    const char* name;
    const char* command;  //!< Of both sides; the client's is given the server's address.
    const char* expected; //!< A regular expression of what the client says.
};

void PrintTo(const Exchange& exchange, std::ostream* stream)
{
    *stream << exchange.command;
}

std::string name_of(const testing::TestParamInfo<Exchange>& info)
{
    return info.param.name;
}

class ConnectX : public testing::TestWithParam<Exchange> {};

} // namespace

TEST(ConnectX, IsADeviceThatVerbsSee)
{
    MRZ_REQUIRE(installed("/usr/bin/ibv_devinfo"), "ibv_devinfo is missing (Debian: ibverbs-utils)");
    const ProgramResult info = run({"/usr/bin/ibv_devinfo", "-v", "-d", "mlx5_0"});
    EXPECT_EQ(info.status, 0) << info.err;
    EXPECT_THAT(info.out, HasSubstr("PORT_ACTIVE"));
    EXPECT_THAT(info.out, ContainsRegex("vendor_part_id:[[:space:]]*4121"));
    EXPECT_THAT(info.out, ContainsRegex("active_mtu:[[:space:]]*4096"));
}

TEST_P(ConnectX, Carries)
{
    const std::string command = GetParam().command;
    MRZ_REQUIRE(installed("/usr/bin/" + command.substr(0, command.find(' '))),
                "a program is missing (Debian: ibverbs-utils, perftest): " + command);
    const ProgramResult result = server_and_client(command, command + " 127.0.0.1");
    EXPECT_EQ(result.status, 0) << result.out << result.err;
    EXPECT_THAT(result.out, ContainsRegex(GetParam().expected));
}

// -c: what has arrived is compared with what was sent.
INSTANTIATE_TEST_SUITE_P(
    Pingpong, ConnectX,
    testing::Values(
        Exchange{"Polled", "ibv_rc_pingpong -d mlx5_0 -g 0 -n 1000 -c", "\n1000 iters"},
        Exchange{"ByEvents", "ibv_rc_pingpong -d mlx5_0 -g 0 -n 1000 -c -e", "\n1000 iters"},
        Exchange{"OfManyPackets", "ibv_rc_pingpong -d mlx5_0 -g 0 -n 100 -c -s 1000000 -m 4096 -r 10", "\n100 iters"},
        Exchange{"ByTheNewCalls", "ibv_rc_pingpong -d mlx5_0 -g 0 -n 1000 -c -N", "\n1000 iters"},
        Exchange{"OfDatagrams", "ibv_ud_pingpong -d mlx5_0 -g 0 -n 1000 -c", "\n1000 iters"},
        Exchange{"OfDatagramsByEvents", "ibv_ud_pingpong -d mlx5_0 -g 0 -n 1000 -c -e", "\n1000 iters"},
        Exchange{"OfASharedQueue", "ibv_srq_pingpong -d mlx5_0 -g 0 -n 200 -c", "\n200 iters"},
        Exchange{"OfASharedQueueByEvents", "ibv_srq_pingpong -d mlx5_0 -g 0 -n 200 -c -e", "\n200 iters"}),
    name_of);

// -F: the processor's frequency may be whatever it is. Answers are waited for 17 s (-u 22), not 67 ms, since an
// emulated guest on a busy machine takes its time.
INSTANTIATE_TEST_SUITE_P(
    Perftest, ConnectX,
    testing::Values(
        Exchange{"Writes", "ib_write_bw -d mlx5_0 -F -u 22 -n 200 -s 65536", "\n 65536 +200 "},
        Exchange{"WritesOfManyQueues", "ib_write_bw -d mlx5_0 -F -u 22 -n 50 -s 65536 -q 4", "\n 65536 +200 "},
        Exchange{"Reads", "ib_read_bw -d mlx5_0 -F -u 22 -n 200 -s 65536", "\n 65536 +200 "},
        Exchange{"Sends", "ib_send_bw -d mlx5_0 -F -u 22 -n 200 -s 65536", "\n 65536 +200 "},
        Exchange{"SendsByEvents", "ib_send_bw -d mlx5_0 -F -u 22 -n 200 -s 65536 -e", "\n 65536 +200 "},
        Exchange{"SendsOfDatagrams", "ib_send_bw -d mlx5_0 -F -n 200 -s 1024 -c UD", "\n 1024 +200 "},
        Exchange{"Atomics", "ib_atomic_bw -d mlx5_0 -F -u 22 -n 200", "\n 8 +200 "},
        Exchange{"ComparesAndSwaps", "ib_atomic_bw -d mlx5_0 -F -u 22 -n 200 -A CMP_AND_SWAP", "\n 8 +200 "},
        Exchange{"LatencyOfWrites", "ib_write_lat -d mlx5_0 -F -u 22 -n 200", "\n 2 +200 "},
        Exchange{"LatencyOfReads", "ib_read_lat -d mlx5_0 -F -u 22 -n 200", "\n 2 +200 "},
        Exchange{"LatencyOfSends", "ib_send_lat -d mlx5_0 -F -u 22 -n 200", "\n 2 +200 "},
        Exchange{"LatencyOfAtomics", "ib_atomic_lat -d mlx5_0 -F -u 22 -n 200", "\n 8 +200 "}),
    name_of);

} // namespace mrz::test
