// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Two of mrz-hca's adapters in one guest, linked: a server on mlx5_0, its client on mlx5_1.
#include "peers.hpp"
#include "support/require.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

namespace mrz::test {
namespace {

using testing::ContainsRegex;

struct Exchange {
    const char* name;
    const char* program;
    const char* arguments; //!< Besides the device and, for the client, the server's address.
    const char* expected;  //!< A regular expression of what the client says.
};

void PrintTo(const Exchange& exchange, std::ostream* stream)
{
    *stream << exchange.program << ' ' << exchange.arguments;
}

std::string name_of(const testing::TestParamInfo<Exchange>& info)
{
    return info.param.name;
}

std::string attribute(const std::string& device, const std::string& name)
{
    std::ifstream file{"/sys/class/infiniband/" + device + '/' + name};
    std::string value;
    std::getline(file, value);
    return value;
}

class ConnectXPair : public testing::TestWithParam<Exchange> {};

} // namespace

TEST(ConnectXPair, HasAddressesThatDiffer)
{
    for (const char* const name : {"node_guid", "sys_image_guid", "ports/1/lid", "ports/1/gids/0"}) {
        EXPECT_NE(attribute("mlx5_0", name), "") << name;
        EXPECT_NE(attribute("mlx5_0", name), attribute("mlx5_1", name)) << name;
    }
}

TEST_P(ConnectXPair, Carries)
{
    const Exchange& exchange = GetParam();
    MRZ_REQUIRE(installed(std::string{"/usr/bin/"} + exchange.program),
                std::string{"a program is missing (Debian: ibverbs-utils, perftest): "} + exchange.program);
    const auto command = [&exchange](const std::string& device) {
        return std::string{exchange.program} + " -d " + device + ' ' + exchange.arguments;
    };
    const ProgramResult result = server_and_client(command("mlx5_0"), command("mlx5_1") + " 127.0.0.1");
    EXPECT_EQ(result.status, 0) << result.out << result.err;
    EXPECT_THAT(result.out, ContainsRegex(exchange.expected));
}

// -c: what has arrived is compared with what was sent. With -g the address is a GID, too.
INSTANTIATE_TEST_SUITE_P(
    Pingpong, ConnectXPair,
    testing::Values(Exchange{"ByLid", "ibv_rc_pingpong", "-n 500 -c", "\n500 iters"},
                    Exchange{"ByGid", "ibv_rc_pingpong", "-g 0 -n 500 -c", "\n500 iters"},
                    Exchange{"ByEvents", "ibv_rc_pingpong", "-n 300 -c -e", "\n300 iters"},
                    Exchange{"OfManyPackets", "ibv_rc_pingpong", "-n 50 -c -s 1000000 -m 4096 -r 10", "\n50 iters"},
                    Exchange{"OfDatagrams", "ibv_ud_pingpong", "-n 500 -c", "\n500 iters"},
                    Exchange{"OfDatagramsByGidAndEvents", "ibv_ud_pingpong", "-g 0 -n 300 -c -e", "\n300 iters"},
                    Exchange{"OfASharedQueue", "ibv_srq_pingpong", "-n 200 -c", "\n200 iters"}),
    name_of);

// As for one device: see programs.cpp.
INSTANTIATE_TEST_SUITE_P(
    Perftest, ConnectXPair,
    testing::Values(Exchange{"Writes", "ib_write_bw", "-F -u 22 -n 200 -s 65536", "\n 65536 +200 "},
                    Exchange{"WritesOfManyQueues", "ib_write_bw", "-F -u 22 -n 50 -s 65536 -q 4", "\n 65536 +200 "},
                    Exchange{"WritesBothWays", "ib_write_bw", "-F -u 22 -n 200 -s 65536 -b", "\n 65536 +200 "},
                    Exchange{"Reads", "ib_read_bw", "-F -u 22 -n 200 -s 65536", "\n 65536 +200 "},
                    Exchange{"Sends", "ib_send_bw", "-F -u 22 -n 200 -s 65536", "\n 65536 +200 "},
                    Exchange{"SendsOfDatagrams", "ib_send_bw", "-F -n 200 -s 1024 -c UD", "\n 1024 +200 "},
                    Exchange{"Atomics", "ib_atomic_bw", "-F -u 22 -n 200", "\n 8 +200 "},
                    Exchange{"LatencyOfWrites", "ib_write_lat", "-F -u 22 -n 200", "\n 2 +200 "}),
    name_of);

} // namespace mrz::test
