// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! mrz-hca's adapter as an Ethernet port: the kernel's network device on it, and RDMA over RoCE between two processes
//! by other people's programs.
#include "peers.hpp"
#include "support/require.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>

namespace mrz::test {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

//! The network device of mlx5_0, which has the address 10.1.0.1; and the places of its GIDs.
class Port {
  public:
    Port()
    {
        const ProgramResult device = run_in_shell("ls /sys/class/infiniband/mlx5_0/device/net");
        std::istringstream{device.out} >> name;
        status = device.status;
        why = device.out + device.err;
    }
    static ProgramResult run_in_shell(const std::string& script)
    {
        return test::run_in_shell("gids=/sys/class/infiniband/mlx5_0/ports/1/gids\n" + script);
    }
    //! The index of the GID that matches, of a type that sysfs calls so; nothing if there is none.
    static std::string index_of(const std::string& gid, const std::string& type)
    {
        const ProgramResult found = run_in_shell("for gid in $gids/*; do\n"
                                                 "    index=${gid##*/}\n"
                                                 "    grep -q '" +
                                                 gid + "' $gid && [ \"$(cat $gids/../gid_attrs/types/$index)\" = '" +
                                                 type + "' ] && { echo $index; break; }\ndone 2>/dev/null");
        return found.out.substr(0, found.out.find('\n'));
    }

    std::string name;
    int status = 0;
    std::string why;
};

Port& port()
{
    static Port there;
    return there;
}

//! A program whose two sides are given the index of a GID in place of GID.
struct Exchange {
    const char* name;
    const char* command;
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

//! A queue of the network device that does not go on, a command that was refused: the kernel says so.
void expect_a_content_kernel()
{
    const ProgramResult log = run_in_shell("dmesg | grep -i -E 'mlx5|netdev watchdog'");
    EXPECT_THAT(log.out, Not(ContainsRegex("timed out|[Tt]imeout|cmd_out_err|syndrome|WARNING")));
}

void carries(const Exchange& exchange, const std::string& index)
{
    ASSERT_NE(index, "");
    std::string command = exchange.command;
    MRZ_REQUIRE(installed("/usr/bin/" + command.substr(0, command.find(' '))),
                "a program is missing (Debian: ibverbs-utils, perftest): " + command);
    command.replace(command.find("GID"), 3, index);
    const ProgramResult result = server_and_client(command, command + " 127.0.0.1");
    EXPECT_EQ(result.status, 0) << result.out << result.err;
    EXPECT_THAT(result.out, ContainsRegex(exchange.expected));
    expect_a_content_kernel();
}

class Roce : public testing::TestWithParam<Exchange> {
  protected:
    void SetUp() override { ASSERT_EQ(port().status, 0) << port().why; }
};

} // namespace

TEST(RocePort, HasANetworkDeviceThatComesUp)
{
    ASSERT_EQ(port().status, 0) << port().why;
    const ProgramResult shown = run_in_shell("ip -statistics address show " + port().name);
    EXPECT_THAT(shown.out, ContainsRegex("state UP"));
    const ProgramResult info = run({"/usr/bin/ibv_devinfo", "-v", "-d", "mlx5_0"});
    EXPECT_EQ(info.status, 0) << info.err;
    EXPECT_THAT(info.out, HasSubstr("PORT_ACTIVE"));
    EXPECT_THAT(info.out, ContainsRegex("link_layer:[[:space:]]*Ethernet"));
    EXPECT_THAT(info.out, ContainsRegex("::ffff:10.1.0.1, RoCE v2"));
    EXPECT_THAT(info.out, ContainsRegex("GID.*fe80.*RoCE v1"));
    EXPECT_THAT(info.out, ContainsRegex("GID.*fe80.*RoCE v2"));
}

TEST(RocePort, LosesItsAddressesAndComesBack)
{
    ASSERT_EQ(port().status, 0) << port().why;
    const ProgramResult result = run_in_shell(
        "set -e\nip link set " + port().name + " down\n" + "ibv_devinfo -d mlx5_0 | grep PORT_DOWN\nip link set " +
        port().name + " up\n" + "tries=0\nuntil ibv_devinfo -d mlx5_0 | grep PORT_ACTIVE; do\n" +
        "    tries=$((tries + 1)); [ $tries -lt 100 ]; sleep 0.2\ndone\n");
    EXPECT_EQ(result.status, 0) << result.out << result.err;
}

TEST(RocePort, DropsPacketsAndTheKernelDoesNotMind)
{
    ASSERT_EQ(port().status, 0) << port().why;
    // Nobody answers; the driver would call it a timeout if its queue did not go on.
    const ProgramResult result = run_in_shell("before=$(cat /sys/class/net/" + port().name +
                                              "/statistics/tx_packets)\n"
                                              "for port in 1 2 3 4 5 6 7 8; do\n"
                                              "    bash -c \"echo x >/dev/udp/10.1.0.255/$port\" || :\n"
                                              "    bash -c \"echo x >/dev/udp/10.1.0.9/$port\" || :\n"
                                              "done 2>/dev/null\n"
                                              "sleep 4\n"
                                              "[ $(cat /sys/class/net/" +
                                              port().name + "/statistics/tx_packets) -gt $before ]");
    EXPECT_EQ(result.status, 0) << "nothing was sent" << result.err;
}

TEST_P(Roce, Carries)
{
    carries(GetParam(), Port::index_of(":ffff:0a01:0001", "RoCE v2"));
}

// -c: what has arrived is compared with what was sent.
INSTANTIATE_TEST_SUITE_P(
    Pingpong, Roce,
    testing::Values(Exchange{"Polled", "ibv_rc_pingpong -d mlx5_0 -g GID -n 1000 -c", "\n1000 iters"},
                    Exchange{"ByEvents", "ibv_rc_pingpong -d mlx5_0 -g GID -n 1000 -c -e", "\n1000 iters"},
                    Exchange{"OfDatagrams", "ibv_ud_pingpong -d mlx5_0 -g GID -n 1000 -s 1024 -c", "\n1000 iters"},
                    Exchange{"OfASharedQueue", "ibv_srq_pingpong -d mlx5_0 -g GID -n 200 -c", "\n200 iters"}),
    name_of);

// -F: the processor's frequency may be whatever it is; -u 22: an emulated guest on a busy machine takes its time.
INSTANTIATE_TEST_SUITE_P(
    Perftest, Roce,
    testing::Values(Exchange{"Writes", "ib_write_bw -d mlx5_0 -x GID -F -u 22 -n 200 -s 65536", "\n 65536 +200 "},
                    Exchange{"Reads", "ib_read_bw -d mlx5_0 -x GID -F -u 22 -n 200 -s 65536", "\n 65536 +200 "},
                    Exchange{"Sends", "ib_send_bw -d mlx5_0 -x GID -F -u 22 -n 200 -s 65536", "\n 65536 +200 "},
                    Exchange{"SendsOfDatagrams", "ib_send_bw -d mlx5_0 -x GID -F -n 200 -s 1024 -c UD",
                             "\n 1024 +200 "},
                    Exchange{"Atomics", "ib_atomic_bw -d mlx5_0 -x GID -F -u 22 -n 200", "\n 8 +200 "}),
    name_of);

// The same over the other headers: a global routing header, and IPv6's.
class RoceOfTheLinksAddress : public testing::TestWithParam<const char*> {
  protected:
    void SetUp() override { ASSERT_EQ(port().status, 0) << port().why; }
};

TEST_P(RoceOfTheLinksAddress, Carries)
{
    const std::string index = Port::index_of("^fe80:", GetParam());
    carries({"", "ibv_rc_pingpong -d mlx5_0 -g GID -n 200 -c", "\n200 iters"}, index);
    carries({"", "ibv_ud_pingpong -d mlx5_0 -g GID -n 200 -s 1024 -c", "\n200 iters"}, index);
}

INSTANTIATE_TEST_SUITE_P(Versions, RoceOfTheLinksAddress, testing::Values("IB/RoCE v1", "RoCE v2"),
                         [](const auto& given) { return given.param[0] == 'I' ? "One" : "Two"; });

} // namespace mrz::test
