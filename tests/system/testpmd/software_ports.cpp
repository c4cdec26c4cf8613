// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Ports that are nothing but software.
#include "testpmd.hpp"

namespace mrz::test {
namespace {

class TestpmdSoftware : public TestpmdPools {};

TEST_P(TestpmdSoftware, RingHandsTheFirstBurstRoundForEver)
{
    Dialogue program{interactive({"--vdev=net_ring0"}, {pools()})};
    ASSERT_NO_FATAL_FAILURE(start(program, 1, "start tx_first"));
    ASSERT_NO_FATAL_FAILURE(wait_for_packets(program, 0, "RX-packets", 100000));
    const std::string text = stop(program);
    EXPECT_GE(forwarded(text, 0, "RX-packets"), 100000U) << text;
    EXPECT_EQ(forwarded(text, 0, "TX-dropped"), 0U) << text;
    quit(program);
}

TEST_P(TestpmdSoftware, RunsEveryEngineOverNullPorts)
{
    // With copies, so that all of a packet's memory is touched.
    const std::string size = ",size=512,copy=1";
    Dialogue program{
        interactive({"--vdev=net_null0" + size, "--vdev=net_null1" + size}, {pools(), "--txpkts=300,200"})};
    for (const char* const mode :
         {"io", "mac", "macswap", "rxonly", "txonly", "flowgen", "csum", "5tswap", "icmpecho"}) {
        program.say(std::string{"set fwd "} + mode);
        program.say("clear port stats all");
        ASSERT_NO_FATAL_FAILURE(start(program, 2)) << mode;
        const bool sends = std::string_view{mode} != "rxonly" && std::string_view{mode} != "icmpecho";
        ASSERT_NO_FATAL_FAILURE(wait_for_packets(program, 1, sends ? "TX-packets" : "RX-packets", 10000)) << mode;
        const std::string text = stop(program);
        if (sends) {
            EXPECT_GE(forwarded(text, 1, "TX-packets"), 10000U) << mode << text;
            EXPECT_EQ(forwarded(text, 1, "TX-dropped"), 0U) << mode << text;
        } else {
            EXPECT_EQ(forwarded(text, 1, "TX-packets"), 0U) << mode << text;
        }
    }
    quit(program);
}

TEST_P(TestpmdSoftware, UsesAsManyQueuesAndLcoresAsItIsTold)
{
    Dialogue program{interactive({"--vdev=net_null0", "--vdev=net_null1"},
                                 {pools(), "--rxq=2", "--txq=2", "--nb-cores=2", "--burst=64"}, 3)};
    // Before it starts, and while it forwards.
    program.say("show config fwd");
    ASSERT_TRUE(program.hear("cores=2 - streams=4")) << program.text();
    ASSERT_NO_FATAL_FAILURE(start(program, 2));
    program.say("show config fwd");
    ASSERT_TRUE(program.hear("cores=2 - streams=4")) << program.text();
    ASSERT_NO_FATAL_FAILURE(wait_for_packets(program, 0, "TX-packets", 10000));
    stop(program);
    quit(program);
}

INSTANTIATE_TEST_SUITE_P(Pools, TestpmdSoftware, testing::Values("arena", "arena-extbuf", "native"), kind_name);

class TestpmdLookup : public TestpmdPools {};

TEST_P(TestpmdLookup, FindsTheKeyOfEveryPacket)
{
    for (const char* const mode : {"io", "txonly"}) {
        Dialogue program{interactive({"--vdev=net_null0", "--vdev=net_null1"},
                                     {pools(), "--domain=soft", "--lookup", std::string{"--forward-mode="} + mode})};
        ASSERT_NO_FATAL_FAILURE(start(program, 2));
        ASSERT_NO_FATAL_FAILURE(wait_for_packets(program, 1, "TX-packets", 10000));
        const std::string text = stop(program);
        EXPECT_GE(forwarded(text, 1, "Keys-found"), 10000U) << text;
        EXPECT_EQ(forwarded(text, 1, "Keys-missing"), 0U) << text;
        program.say("show arenas");
        EXPECT_TRUE(program.hear("soft")) << program.text();
        quit(program);
    }
}

INSTANTIATE_TEST_SUITE_P(Pools, TestpmdLookup, testing::Values("arena", "arena-extbuf"), kind_name);

} // namespace
} // namespace mrz::test
