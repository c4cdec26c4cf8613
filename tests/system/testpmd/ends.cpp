// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Headless runs, and all the ways in which one ends.
#include "testpmd.hpp"

#include <csignal>

namespace mrz::test {
namespace {

using testing::HasSubstr;
using testing::Not;

class TestpmdHeadless : public TestpmdPools {
  protected:
    static Words headless(Words devices, const Words& options)
    {
        devices.emplace_back("--in-memory");
        Words all{pools(), "--total-num-mbufs=16384"};
        all.insert(all.end(), options.begin(), options.end());
        return command(devices, all);
    }
    static Words two_ports(const Words& options)
    {
        return headless({"--vdev=net_null0", "--vdev=net_null1"}, options);
    }
};

TEST_P(TestpmdHeadless, ForwardsUntilItIsToldToEndUnderLoad)
{
    Dialogue program{two_ports({"--stats-period=1", "--forward-mode=macswap"})};
    program.close_input();
    // Twice: it goes on by itself.
    ASSERT_TRUE(program.hear("NIC statistics for port 1")) << program.text();
    ASSERT_TRUE(program.hear("NIC statistics for port 1")) << program.text();
    ASSERT_TRUE(program.hear("Tx-bps:")) << program.text();
    EXPECT_GT(number_of(program.text(), "NIC statistics for port 1", "RX-packets"), 1000U);
    ::kill(program.pid(), SIGTERM);
    const ProgramResult result = program.wait();
    EXPECT_EQ(result.status, 0) << result.out;
    EXPECT_THAT(result.out, HasSubstr("Accumulated forward statistics"));
}

TEST_P(TestpmdHeadless, EndsWhereverInItsStartItIsToldTo)
{
    // Until it forwards a signal means that there is nothing to tell.
    for (const char* const moment : {"EAL: Detected CPU", "EAL: Selected IOVA", "packet forwarding"}) {
        Dialogue program{two_ports({})};
        ASSERT_TRUE(program.hear(moment)) << program.text();
        ::kill(program.pid(), SIGTERM);
        const ProgramResult result = program.wait();
        EXPECT_TRUE(result.status == 0 || result.status == 128 + SIGTERM) << result.status << result.out;
        ASSERT_EQ(pages(), before) << moment;
    }
}

INSTANTIATE_TEST_SUITE_P(Pools, TestpmdHeadless, testing::Values("arena", "arena-extbuf", "native"), kind_name);

class TestpmdEnds : public TestpmdHeadless {};

TEST_P(TestpmdEnds, ByEverySignalThatAsksForIt)
{
    for (const int signal : {SIGINT, SIGHUP}) {
        Dialogue program{two_ports({})};
        ASSERT_TRUE(program.hear("packet forwarding")) << program.text();
        ::kill(program.pid(), signal);
        const ProgramResult result = program.wait();
        EXPECT_EQ(result.status, 0) << result.out;
        EXPECT_THAT(result.out, HasSubstr("Accumulated forward statistics"));
    }
}

TEST_P(TestpmdEnds, WhereNobodyReadsItsResultsAnyMore)
{
    Words words{"/bin/sh", "-c", "\"$@\" | head -n 1", "sh"};
    for (const std::string& word : two_ports({"--stats-period=1"}))
        words.push_back(word);
    Dialogue program{words};
    EXPECT_EQ(program.wait().status, 0) << program.text(); // the reader's
}

TEST_P(TestpmdEnds, ByForceAfterWhichTheNextRunPutsThePoolBack)
{
    {
        Dialogue program{two_ports({})};
        ASSERT_TRUE(program.hear("packet forwarding")) << program.text();
        ::kill(program.pid(), SIGKILL);
        EXPECT_EQ(program.wait().status, 128 + SIGKILL);
    }
    EXPECT_GT(pages(), before);
    Dialogue next{command({"--in-memory"}, {})};
    EXPECT_NE(next.wait().status, 0) << "there is no port";
    EXPECT_EQ(pages(), before) << next.text();
}

TEST_P(TestpmdEnds, WhenItsLastPortVanishes)
{
    const NetworkNamespace host;
    const NetworkNamespace other;
    connect(host, "l0", other, "m0");
    Dialogue program{headless({"--vdev=net_af_packet0,iface=m0"}, {}), Dialogue::Over::pipes, [&] { other.enter(); }};
    ASSERT_TRUE(program.hear("packet forwarding")) << program.text();
    host.ip("link del l0");
    const ProgramResult result = program.wait();
    EXPECT_EQ(result.status, 7) << result.out;
    EXPECT_THAT(result.out, HasSubstr("port 0 (net_af_packet) is gone"));
    EXPECT_THAT(result.out, HasSubstr("no port is left"));
}

TEST_P(TestpmdEnds, WhileItSendsItsFirstBursts)
{
    Dialogue program{interactive({"--vdev=net_null0"}, {pools()})};
    program.say("start tx_first 4294967295");
    ASSERT_TRUE(program.hear("start tx_first")) << program.text();
    ::kill(program.pid(), SIGTERM);
    EXPECT_EQ(program.wait().status, 0) << program.text();
}

TEST_P(TestpmdEnds, WhereItWasStartedWithoutStandardFiles)
{
    const auto close_all = [] {
        for (const int fd : {0, 1, 2})
            ::close(fd);
    };
    // What it opens itself is neither read as commands nor written to as results.
    Dialogue prompt{interactive({"--vdev=net_null0"}, {pools()}), Dialogue::Over::pipes, close_all};
    EXPECT_EQ(prompt.wait().status, 2);
    Dialogue forwarding{two_ports({}), Dialogue::Over::pipes, close_all};
    EXPECT_EQ(forwarding.wait().status, 1);
}

INSTANTIATE_TEST_SUITE_P(Pools, TestpmdEnds, testing::Values("arena"), kind_name);

} // namespace
} // namespace mrz::test
