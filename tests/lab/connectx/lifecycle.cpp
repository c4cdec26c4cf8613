// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! mrz-hca's adapter, mlx5_0, while drivers come and go and processes die.
#include "peers.hpp"
#include "support/require.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

namespace mrz::test {
namespace {

using testing::Not;

constexpr int rounds = 5;

//! What the kernel holds of the device's objects.
std::string resources()
{
    return run({"/usr/bin/rdma", "resource", "show", "mlx5_0"}).out;
}

void expect_traffic(const std::string& when)
{
    const std::string command = "ibv_rc_pingpong -d mlx5_0 -g 0 -n 100 -c";
    const ProgramResult result = server_and_client(command, command + " 127.0.0.1");
    EXPECT_EQ(result.status, 0) << when << ": " << result.out << result.err;
}

class ConnectXLifecycle : public testing::Test {
  protected:
    void SetUp() override
    {
        MRZ_REQUIRE(installed("/usr/bin/ibv_rc_pingpong"), "ibv_rc_pingpong is missing (Debian: ibverbs-utils)");
        MRZ_REQUIRE(installed("/usr/bin/ib_write_bw"), "ib_write_bw is missing (Debian: perftest)");
    }
    //! Commands that the device refused are told by the driver, with their syndromes.
    void TearDown() override
    {
        const std::string refused = run_in_shell("dmesg | grep -i syndrome").out;
        EXPECT_EQ(refused, "");
    }
};

} // namespace

TEST_F(ConnectXLifecycle, DriversAreLoadedAnew)
{
    for (int round = 1; round <= rounds; ++round) {
        const ProgramResult result = run_in_shell("set -e\n"
                                                  "modprobe -r mlx5_ib\n"
                                                  "modprobe -r mlx5_core\n"
                                                  "[ ! -e /sys/class/infiniband/mlx5_0 ]\n"
                                                  "modprobe mlx5_ib\n"
                                                  "[ -e /sys/class/infiniband/mlx5_0 ]\n");
        ASSERT_EQ(result.status, 0) << "round " << round << ": " << result.out << result.err;
        expect_traffic("round " + std::to_string(round));
    }
}

TEST_F(ConnectXLifecycle, TheDeviceIsResetWithoutItsDriver)
{
    const ProgramResult result = run_in_shell("set -e\n"
                                              "device=$(readlink -f /sys/class/infiniband/mlx5_0/device)\n"
                                              "name=${device##*/}\n"
                                              "grep -qw flr $device/reset_method\n"
                                              "echo $name >/sys/bus/pci/drivers/mlx5_core/unbind\n"
                                              "echo 1 >$device/reset\n"
                                              "echo $name >/sys/bus/pci/drivers/mlx5_core/bind\n"
                                              "[ -e /sys/class/infiniband/mlx5_0 ]\n");
    ASSERT_EQ(result.status, 0) << result.out << result.err;
    expect_traffic("after the reset");
}

TEST_F(ConnectXLifecycle, ProcessesAreKilledUnderLoad)
{
    const std::string before = resources();
    for (int round = 1; round <= rounds; ++round) {
        // Killed while bytes move, which is once it has printed what moved in a second.
        const ProgramResult result = run_in_shell(
            "load='ib_write_bw -d mlx5_0 -F -u 22 -s 65536 --run_infinitely -D 1'\n"
            "$load >/dev/null 2>&1 & server=$!\n"
            "mkfifo /tmp/said\n"
            "tries=0\n"
            "while :; do\n"
            "    stdbuf -oL $load 127.0.0.1 >/tmp/said 2>/dev/null & client=$!\n"
            "    moved=no\n"
            "    while read -r size count rest; do\n"
            "        [ \"$size\" != 65536 ] || { moved=\"$count\"; kill -9 $client $server; }\n"
            "    done </tmp/said\n"
            "    wait $client\n"
            "    [ $moved = no ] || break\n"
            "    tries=$((tries + 1))\n"
            "    kill -0 $server && [ $tries -lt 100 ] || { echo 'no traffic'; kill -9 $server; exit 1; }\n"
            "done\n"
            "rm /tmp/said\n"
            "wait $server\n"
            "[ $? -eq 137 ]\n");
        ASSERT_EQ(result.status, 0) << "round " << round << ": " << result.out << result.err;
        EXPECT_EQ(resources(), before);
        expect_traffic("round " + std::to_string(round));
    }
}

} // namespace mrz::test
