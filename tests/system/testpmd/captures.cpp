// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Files of captured frames, in and out.
#include "testpmd.hpp"

#include "support/capture_file.hpp"

namespace mrz::test {
namespace {

Frame without_checksums(Frame frame)
{
    const bool six = read16(frame, 12) == 0x86dd;
    const auto protocol = static_cast<Protocol>(frame[ethernet_header + (six ? 6 : 9)]);
    std::fill_n(frame.begin(), 12, std::uint8_t{0});
    write16(frame, transport_at(six) + checksum_at(protocol), 0);
    if (!six)
        write16(frame, ip_checksum_at, 0);
    return frame;
}

class TestpmdCaptures : public TestpmdPools {
  protected:
    //! What comes out of one port that forwards to itself.
    std::vector<Frame> forward(const std::vector<Frame>& frames, const Words& options)
    {
        const std::string in = folder / "in.pcap";
        const std::string out = folder / "out.pcap";
        write_capture(in, frames);
        Words all{pools()};
        all.insert(all.end(), options.begin(), options.end());
        Dialogue program{interactive({"--vdev=net_pcap0,rx_pcap=" + in + ",tx_pcap=" + out}, all)};
        forward_all(program, frames.size());
        return read_capture(out);
    }

  private:
    static void forward_all(Dialogue& program, std::size_t frames)
    {
        ASSERT_NO_FATAL_FAILURE(start(program, 1));
        ASSERT_NO_FATAL_FAILURE(wait_for_packets(program, 0, "TX-packets", frames));
        const std::string text = stop(program);
        EXPECT_EQ(forwarded(text, 0, "RX-packets"), frames) << text;
        EXPECT_EQ(forwarded(text, 0, "TX-packets"), frames) << text;
        EXPECT_EQ(forwarded(text, 0, "TX-dropped"), 0U) << text;
        quit(program);
    }
};

TEST_P(TestpmdCaptures, ComeOutAsTheyWentIn)
{
    const std::vector<Frame> frames = frames_of_sizes(60, 1514, 1, 1);
    EXPECT_TRUE(forward(frames, {}) == frames);
}

TEST_P(TestpmdCaptures, ComeOutAsTheyWentInThroughBuffersThatTheyDoNotFit)
{
    const std::vector<Frame> frames = frames_of_sizes(60, 9000, 37, 1);
    EXPECT_TRUE(forward(frames, {"--mbuf-size=640", "--max-pkt-len=9018"}) == frames);
}

TEST_P(TestpmdCaptures, ComeOutWithRightChecksums)
{
    std::vector<Frame> frames;
    std::mt19937 random{1};
    for (std::size_t payload = 1; payload < 1400; payload += 51)
        for (const bool six : {false, true})
            for (const Protocol protocol : {Protocol::udp, Protocol::tcp}) {
                Frame& frame = frames.emplace_back(datagram(six, protocol, payload, static_cast<unsigned>(payload)));
                // Zero would say that there is no UDP checksum.
                write16(frame, transport_at(six) + checksum_at(protocol), random() | 1U);
                if (!six)
                    write16(frame, ip_checksum_at, random());
            }
    const std::vector<Frame> out = forward(frames, {"--forward-mode=csum"});
    ASSERT_EQ(out.size(), frames.size());
    for (std::size_t i = 0; i < out.size(); ++i) {
        EXPECT_EQ(wrong_checksums(out[i]), "") << testing::PrintToString(out[i]);
        // Apart from those, and from the addresses of the next hop, nothing changed.
        EXPECT_TRUE(without_checksums(out[i]) == without_checksums(frames[i])) << testing::PrintToString(out[i]);
    }
}

INSTANTIATE_TEST_SUITE_P(Pools, TestpmdCaptures, testing::Values("arena", "arena-extbuf", "native"), kind_name);

} // namespace
} // namespace mrz::test
