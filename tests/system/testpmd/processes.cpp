// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Between two processes, by memory that they share.
#include "testpmd.hpp"

#include "support/capture_file.hpp"

namespace mrz::test {
namespace {

using testing::HasSubstr;

class TestpmdProcesses : public TestpmdPools {
  protected:
    //! From a file through one process to the other and back into a file.
    void go_and_come_back(Dialogue& near, Dialogue& far) const
    {
        ASSERT_NO_FATAL_FAILURE(wait_for_link(near, 1));
        ASSERT_NO_FATAL_FAILURE(wait_for_link(far, 0));
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
    if (std::string_view{GetParam()} != "native") {
        EXPECT_THAT(far.text(), HasSubstr("net_virtio_user"));
        EXPECT_THAT(far.text(), HasSubstr("native pool"));
    }
}

INSTANTIATE_TEST_SUITE_P(Pools, TestpmdProcesses, testing::Values("arena", "arena-extbuf", "native"), kind_name);

} // namespace
} // namespace mrz::test
