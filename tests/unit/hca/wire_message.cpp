// SPDX-License-Identifier: BSD-3-Clause
#include <hca/wire_message.hpp>

#include "support/descriptor_message.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <vector>

#include <sys/socket.h>

using namespace mrz;
using namespace mrz::hca;

namespace {

class WireMessage : public ::testing::Test {
  protected:
    using Result = ReceivedMessage::Result;

    WireMessage()
    {
        std::array<int, 2> ends{};
        EXPECT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()), 0);
        mine = FileDescriptor{ends[0]};
        peers = FileDescriptor{ends[1]};
    }
    void send(std::size_t bytes, std::size_t descriptors)
    {
        const std::vector<std::byte> message(bytes, std::byte{7});
        ASSERT_TRUE(test::send_with_descriptors(peers.get(), message, std::vector<int>(descriptors, peers.get())));
    }
    ReceivedMessage receive()
    {
        std::array<std::byte, 16> message{};
        return receive_message(mine.get(), message);
    }

    FileDescriptor mine;
    FileDescriptor peers;
};

} // namespace

TEST_F(WireMessage, BringsOneDescriptorOrNone)
{
    EXPECT_EQ(receive().result, Result::nothing_yet);
    send(16, 0);
    ReceivedMessage received = receive();
    EXPECT_EQ(received.result, Result::message);
    EXPECT_FALSE(received.descriptor.valid());
    send(16, 1); // the peer's own end
    received = receive();
    EXPECT_EQ(received.result, Result::message);
    EXPECT_TRUE(received.descriptor.valid());
    peers = {};
    received.descriptor = {};
    EXPECT_EQ(receive().result, Result::gone);
}

TEST_F(WireMessage, OfAnotherFormIsNoneAndLeavesNothingOpen)
{
    const std::size_t before = test::open_descriptors();
    for (const std::size_t bytes : {1U, 15U, 16U, 17U, 5000U}) {
        for (const std::size_t descriptors : {0U, 1U, 2U, 3U, 253U}) {
            if (bytes == 16 && descriptors < 2)
                continue;
            send(bytes, descriptors);
            EXPECT_EQ(receive().result, Result::other_form) << bytes << " bytes, " << descriptors << " descriptors";
            EXPECT_EQ(test::open_descriptors(), before) << bytes << " bytes, " << descriptors << " descriptors";
        }
    }
}

TEST_F(WireMessage, WithoutBytesIsTheEndAndLeavesNothingOpen)
{
    const std::size_t before = test::open_descriptors();
    for (const std::size_t descriptors : {1U, 2U, 253U}) {
        send(0, descriptors);
        EXPECT_EQ(receive().result, Result::gone);
        EXPECT_EQ(test::open_descriptors(), before) << descriptors << " descriptors";
    }
}
