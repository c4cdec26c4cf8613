// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! ping, answered.
#include "testpmd.hpp"

#include "support/echo.hpp"

namespace mrz::test {
namespace {

class TestpmdEcho : public TestpmdPools {
  protected:
    static void expect_answers(Dialogue& program, const NetworkNamespace& where)
    {
        std::uint16_t sequence = 0;
        for (const std::size_t payload : {0, 1, 56, 1000, 1472})
            ASSERT_TRUE(answers_echo(where, "198.18.0.2", payload, ++sequence)) << payload << " bytes\n"
                                                                                << program.text();
        const std::string text = stop(program);
        // And who it is was asked before.
        EXPECT_GE(forwarded(text, 0, "TX-packets"), 6U) << text;
        EXPECT_EQ(forwarded(text, 0, "TX-dropped"), 0U) << text;
        quit(program);
    }
};

TEST_P(TestpmdEcho, AnswersAHostThroughAnInterfaceOfTheKernels)
{
    MRZ_REQUIRE(::access("/dev/net/tun", R_OK | W_OK) == 0, "there is no /dev/net/tun");
    const NetworkNamespace host;
    Dialogue program{interactive({"--vdev=net_tap0,iface=tap0"}, {pools(), "--forward-mode=icmpecho"}),
                     Dialogue::Over::pipes, [&] { host.enter(); }};
    ASSERT_NO_FATAL_FAILURE(start(program, 1));
    host.ip("address add 198.18.0.1/24 dev tap0");
    host.ip("link set tap0 up");
    expect_answers(program, host);
}

TEST_P(TestpmdEcho, AnswersAHostThroughACable)
{
    NetworkNamespace host;
    NetworkNamespace other;
    connect(host, "l0", other, "m0");
    host.ip("address add 198.18.0.1/24 dev l0");
    Dialogue program{interactive({"--vdev=net_af_packet0,iface=m0"}, {pools(), "--forward-mode=icmpecho"}),
                     Dialogue::Over::pipes, [&] { other.enter(); }};
    ASSERT_NO_FATAL_FAILURE(start(program, 1));
    expect_answers(program, host);
}

INSTANTIATE_TEST_SUITE_P(Pools, TestpmdEcho, testing::Values("arena", "arena-extbuf", "native"), kind_name);

} // namespace
} // namespace mrz::test
