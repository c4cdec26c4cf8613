// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Between two hosts: real interfaces of the kernel.
#include "testpmd.hpp"

namespace mrz::test {
namespace {

using testing::HasSubstr;

class TestpmdVeth : public TestpmdPools {
  protected:
    //! Sends every size from 60 to \p last bytes both ways, and compares all bytes and counts.
    static void forward_everything(Dialogue& program, const TwoHosts& hosts, std::size_t last, std::size_t step = 1)
    {
        const PacketSocket left{hosts.left, "l0"};
        const PacketSocket right{hosts.right, "r0"};
        ASSERT_NO_FATAL_FAILURE(start(program, 2));
        const std::vector<Frame> there = frames_of_sizes(60, last, step, 1);
        const std::vector<Frame> back = frames_of_sizes(60, last, step, 100000);
        ASSERT_NO_FATAL_FAILURE(expect_to_arrive(left, right, there)) << program.text();
        ASSERT_NO_FATAL_FAILURE(expect_to_arrive(right, left, back)) << program.text();
        const std::string text = stop(program);
        for (const unsigned port : {0U, 1U}) {
            EXPECT_EQ(forwarded(text, port, "RX-packets"), there.size()) << text;
            EXPECT_EQ(forwarded(text, port, "TX-packets"), there.size()) << text;
            EXPECT_EQ(forwarded(text, port, "TX-dropped"), 0U) << text;
        }
        quit(program);
    }
};

TEST_P(TestpmdVeth, ForwardsFramesOfEverySizeBetweenTwoHosts)
{
    const TwoHosts hosts;
    Dialogue program{interactive({"--vdev=net_af_packet0,iface=m0", "--vdev=net_af_packet1,iface=m1"}, {pools()}),
                     Dialogue::Over::pipes, [&] { hosts.middle.enter(); }};
    forward_everything(program, hosts, 1514);
}

TEST_P(TestpmdVeth, ForwardsJumboFrames)
{
    const TwoHosts hosts{9000};
    // A slot of the ring that the kernel shares holds a frame and its header, and must fit the buffer, too.
    const std::string ring = ",blocksz=65536,framesz=16384,framecnt=256";
    Dialogue program{interactive({"--vdev=net_af_packet0,iface=m0" + ring, "--vdev=net_af_packet1,iface=m1" + ring},
                                 {pools(), "--mbuf-size=16640", "--total-num-mbufs=4096"}),
                     Dialogue::Over::pipes, [&] { hosts.middle.enter(); }};
    forward_everything(program, hosts, 9014, 127);
}

INSTANTIATE_TEST_SUITE_P(Pools, TestpmdVeth, testing::Values("arena", "arena-extbuf", "native"), kind_name);

class TestpmdXdp : public TestpmdVeth {};

TEST_P(TestpmdXdp, ForwardsFramesOfEverySizeBetweenTwoHosts)
{
    const TwoHosts hosts;
    Dialogue program{interactive({"--vdev=net_af_xdp0,iface=m0", "--vdev=net_af_xdp1,iface=m1"}, {pools()}),
                     Dialogue::Over::pipes, [&] { hosts.middle.enter(); }};
    forward_everything(program, hosts, 1514);
}

INSTANTIATE_TEST_SUITE_P(Pools, TestpmdXdp, testing::Values("arena", "native"), kind_name);

class TestpmdRefused : public Testpmd {};

TEST_F(TestpmdRefused, ExternalBuffersForXdpNameTheKindToUse)
{
    const TwoHosts hosts;
    Dialogue program{interactive({"--vdev=net_af_xdp0,iface=m0"}, {pools_of("arena-extbuf")}), Dialogue::Over::pipes,
                     [&] { hosts.middle.enter(); }};
    const ProgramResult result = program.wait();
    EXPECT_EQ(result.status, 7) << result.out;
    EXPECT_THAT(result.out, HasSubstr("--mp-alloc=arena"));
}

TEST_F(TestpmdRefused, PacketsOfSeveralSegmentsForXdpNameThePort)
{
    const TwoHosts hosts;
    Dialogue program{interactive({"--vdev=net_af_xdp0,iface=m0"}, {"--txpkts=64,64"}), Dialogue::Over::pipes,
                     [&] { hosts.middle.enter(); }};
    const ProgramResult result = program.wait();
    EXPECT_EQ(result.status, 7) << result.out;
    EXPECT_THAT(result.out, HasSubstr("port 0 (net_af_xdp) sends only the first"));
}

TEST_F(TestpmdRefused, PacketsLongerThanADeviceTakesNameItsLimit)
{
    const TwoHosts hosts;
    Dialogue program{interactive({"--vdev=net_af_packet0,iface=m0"}, {"--max-pkt-len=9018"}), Dialogue::Over::pipes,
                     [&] { hosts.middle.enter(); }};
    const ProgramResult result = program.wait();
    EXPECT_EQ(result.status, 2) << result.out;
    EXPECT_THAT(result.out, HasSubstr("1518"));
    EXPECT_THAT(result.out, HasSubstr("9018"));
}

class TestpmdVanished : public TestpmdPools {
  protected:
    //! Ports that \p device makes of m0 and m1, each of which sends back what it receives.
    static void expect_one_to_vanish(const std::string& device)
    {
        const TwoHosts hosts;
        const PacketSocket right{hosts.right, "r0"};
        Dialogue program{interactive({"--vdev=" + device + "0,iface=m0", "--vdev=" + device + "1,iface=m1"},
                                     {pools(), "--port-topology=loop"}),
                         Dialogue::Over::pipes, [&] { hosts.middle.enter(); }};
        {
            const PacketSocket left{hosts.left, "l0"};
            ASSERT_NO_FATAL_FAILURE(start(program, 2));
            ASSERT_NO_FATAL_FAILURE(expect_to_arrive(left, left, frames_of_sizes(60, 260, 10, 1)));
            for (int i = 0; i < 500; ++i)
                left.send(random_frame(1000, 1)); // so that it vanishes with frames on their way
        }
        hosts.left.ip("link del l0");
        ASSERT_TRUE(program.hear("port 0 (" + device + ") is gone")) << program.text();
        const std::vector<Frame> frames = frames_of_sizes(60, 1514, 10, 1);
        ASSERT_NO_FATAL_FAILURE(expect_to_arrive(right, right, frames)) << program.text();
        program.say("show port info 1");
        EXPECT_TRUE(program.hear("MAC address")) << program.text();
        const std::string text = stop(program);
        EXPECT_EQ(forwarded(text, 1, "TX-packets"), frames.size()) << text;
        quit(program);
        const std::size_t said = program.text().find("is gone");
        EXPECT_EQ(program.text().find("is gone", said + 1), std::string::npos) << program.text();
    }
};

TEST_P(TestpmdVanished, PortIsSaidOnceAndTheOtherGoesOn)
{
    expect_one_to_vanish("net_af_packet");
}

TEST_P(TestpmdVanished, PortOfXdpIsSaidOnceAndTheOtherGoesOn)
{
    expect_one_to_vanish("net_af_xdp");
}

INSTANTIATE_TEST_SUITE_P(Pools, TestpmdVanished, testing::Values("arena", "native"), kind_name);

} // namespace
} // namespace mrz::test
