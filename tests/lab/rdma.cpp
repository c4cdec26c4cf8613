// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! The guest's RDMA device (rxe0 or siw0) by other people's programs, without mrzone: what fails here is no fault of
//! ours.
#include "peers.hpp"
#include "support/require.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

namespace mrz::test {
namespace {

using testing::HasSubstr;

//! The guest has one.
std::string device()
{
    return std::filesystem::directory_iterator
    {
        "/sys/class/infiniband"
        } -> path().filename();
}

} // namespace

TEST(RdmaDevice, IsADeviceThatVerbsSee)
{
    MRZ_REQUIRE(installed("/usr/bin/ibv_devices"), "ibv_devices is missing (Debian: ibverbs-utils)");
    const ProgramResult devices = run({"/usr/bin/ibv_devices"});
    EXPECT_EQ(devices.status, 0) << devices.err;
    EXPECT_THAT(devices.out, HasSubstr(device()));
    const ProgramResult info = run({"/usr/bin/ibv_devinfo", "-d", device()});
    EXPECT_EQ(info.status, 0) << info.err;
    EXPECT_THAT(info.out, HasSubstr("PORT_ACTIVE"));
    // Packets are as long as they can be.
    EXPECT_THAT(info.out, testing::ContainsRegex("active_mtu:[[:space:]]*4096"));
}

TEST(RdmaDevice, AnswersRping)
{
    MRZ_REQUIRE(installed("/usr/bin/rping"), "rping is missing (Debian: rdmacm-utils)");
    const ProgramResult result = server_and_client("rping -s -a 10.0.0.1 -C 3", "rping -c -a 10.0.0.1 -C 3 -v -V");
    EXPECT_EQ(result.status, 0) << result.out << result.err;
    EXPECT_THAT(result.out, HasSubstr("ping data: rdma-ping-2"));
}

#ifndef WITHOUT_PERFTEST
TEST(RdmaDevice, CarriesPerftestsWrites)
{
    MRZ_REQUIRE(installed("/usr/bin/ib_write_bw"), "ib_write_bw is missing (Debian: perftest)");
    // Answers are waited for 17 s, not 67 ms: a guest that is emulated on a busy machine takes its time.
    const std::string command = "ib_write_bw -d " + device() + " -x 1 -n 100 -s 65536 -u 22";
    const ProgramResult result = server_and_client(command, command + " 10.0.0.1");
    EXPECT_EQ(result.status, 0) << result.out << result.err;
    EXPECT_THAT(result.out, testing::ContainsRegex("\n 65536 +100 "));
}
#endif

} // namespace mrz::test
