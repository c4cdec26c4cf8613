// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Between two processes, by memory that they share.
#include "testpmd.hpp"

#include "support/capture_file.hpp"

namespace mrz::test {
namespace {

class TestpmdProcesses : public TestpmdPools {
  protected:
    //! From a file through one process to the other and back into a file.
    void go_and_come_back(Dialogue& near, Dialogue& far) const
    {
        ASSERT_NO_FATAL_FAILURE(wait_for_link(near, 1));
        ASSERT_NO_FATAL_FAILURE(wait_for_link(far, 0));
        // Which ends only when every queue was polled once: a memif client gives its peer buffers to send into when
        // it polls, and what finds none is dropped.
        ASSERT_NO_FATAL_FAILURE(start(far, 1));
        stop(far);
        ASSERT_NO_FATAL_FAILURE(start(far, 1));
        ASSERT_NO_FATAL_FAILURE(start(near, 2));
        const std::vector<Frame> frames = read_capture(in);
        ASSERT_NO_FATAL_FAILURE(wait_for_packets(near, 0, "TX-packets", frames.size())) << far.text();
        const std::string near_text = stop(near);
        const std::string far_text = stop(far);
        for (const char* const label : {"RX-packets", "TX-packets"}) {
            EXPECT_EQ(forwarded(near_text, 0, label), frames.size()) << near_text;
            EXPECT_EQ(forwarded(near_text, 1, label), frames.size()) << near_text;
            EXPECT_EQ(forwarded(far_text, 0, label), frames.size()) << far_text;
        }
        quit(far);
        quit(near);
        EXPECT_TRUE(read_capture(out) == frames);
    }
    //! From a file through one process to the other and into a file. The ports are those between them.
    void go_across(Dialogue& from, unsigned from_port, Dialogue& to, unsigned to_port) const
    {
        ASSERT_NO_FATAL_FAILURE(wait_for_link(to, to_port));
        ASSERT_NO_FATAL_FAILURE(wait_for_link(from, from_port));
        ASSERT_NO_FATAL_FAILURE(start(to, 2));
        ASSERT_NO_FATAL_FAILURE(start(from, 2));
        const std::vector<Frame> frames = read_capture(in);
        ASSERT_NO_FATAL_FAILURE(wait_for_packets(to, 1 - to_port, "TX-packets", frames.size())) << from.text();
        // net_memif takes the rings of a peer that leaves away from under an lcore that polls them.
        stop(to);
        quit(from);
        quit(to);
        EXPECT_TRUE(read_capture(out) == frames);
    }
    //! It is said once that the other process could not see an arena.
    static void expect_native_said(const Dialogue& program)
    {
        const std::size_t said = program.text().find("all ports get a native pool");
        if (std::string_view{GetParam()} == "native") {
            EXPECT_EQ(said, std::string::npos) << program.text();
            return;
        }
        ASSERT_NE(said, std::string::npos) << program.text();
        EXPECT_EQ(program.text().find("native pool", said + 20), std::string::npos) << program.text();
    }
    void SetUp() override
    {
        TestpmdPools::SetUp();
        if (IsSkipped() || HasFatalFailure())
            return;
        in = folder / "in.pcap";
        out = folder / "out.pcap";
        socket = folder / "socket";
        // No more than the shortest ring between them holds: nobody waits for the other.
        write_capture(in, frames_of_sizes(60, 1514, 12, 1));
    }
    std::string file_port() const { return "--vdev=net_pcap0,rx_pcap=" + in + ",tx_pcap=" + out; }
    std::string file_port_out() const
    {
        const std::string none = folder / "nothing.pcap";
        write_capture(none, {});
        return "--vdev=net_pcap0,rx_pcap=" + none + ",tx_pcap=" + out;
    }

    std::string in;
    std::string out;
    std::string socket;
};

TEST_P(TestpmdProcesses, AreJoinedByMemif)
{
    const std::string memif = "--vdev=net_memif0,socket-abstract=no,socket=" + socket + ",role=";
    Dialogue near{interactive({file_port(), memif + "server"}, {pools()})};
    ASSERT_NO_FATAL_FAILURE(wait_until_ready(near));
    Dialogue far{interactive({memif + "client"}, {pools()})};
    go_and_come_back(near, far);
}

TEST_P(TestpmdProcesses, AreJoinedByVhostAndVirtioUser)
{
    Dialogue near{interactive({file_port(), "--vdev=net_vhost0,iface=" + socket}, {pools()})};
    ASSERT_NO_FATAL_FAILURE(wait_until_ready(near));
    // The other side of a virtio-user port maps its memory by descriptors, of which there may be few.
    Dialogue far{interactive({"--single-file-segments", "--vdev=net_virtio_user0,path=" + socket + ",queue_size=256"},
                             {pools()})};
    go_and_come_back(near, far);
    EXPECT_EQ(near.text().find("native pool"), std::string::npos) << near.text();
    expect_native_said(far);
}

TEST_P(TestpmdProcesses, SendWhatAnotherPortReceivedToVhost)
{
    Dialogue near{interactive({file_port_out(), "--vdev=net_vhost0,iface=" + socket}, {pools()})};
    ASSERT_NO_FATAL_FAILURE(wait_until_ready(near));
    Dialogue far{interactive({"--single-file-segments", "--vdev=net_virtio_user0,path=" + socket,
                              "--vdev=net_pcap0,rx_pcap=" + in + ",tx_pcap=" + (folder / "none.pcap").string()},
                             {pools()})};
    go_across(far, 0, near, 1);
    expect_native_said(far);
}

TEST_P(TestpmdProcesses, SendWhatAnotherPortReceivedToMemifWithoutCopies)
{
    const std::string memif = "--vdev=net_memif0,socket-abstract=no,socket=" + socket + ",role=";
    Dialogue near{interactive({file_port_out(), memif + "server"}, {pools()})};
    ASSERT_NO_FATAL_FAILURE(wait_until_ready(near));
    Dialogue far{interactive({"--single-file-segments", memif + "client,zero-copy=yes",
                              "--vdev=net_pcap0,rx_pcap=" + in + ",tx_pcap=" + (folder / "none.pcap").string()},
                             {pools()})};
    go_across(far, 0, near, 1);
    expect_native_said(far);
}

INSTANTIATE_TEST_SUITE_P(Pools, TestpmdProcesses, testing::Values("arena", "arena-extbuf", "native"), kind_name);

} // namespace
} // namespace mrz::test
