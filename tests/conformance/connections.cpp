// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Connections to another process: what two ends do to each other, and what becomes of one when the other ends.
#include "peer.hpp"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <optional>
#include <thread>

namespace mrz::test {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t large = std::size_t{3} << 20;

//! This end connects to a peer that listens.
class Connections : public Conformance {
  protected:
    void SetUp() override
    {
        try {
            static_cast<void>(domain.listen(":0"));
        } catch (const Error& error) {
            if (error.error_number() != ENOTSUP)
                throw;
            GTEST_SKIP() << "the driver has no connections";
        }
        peer.emplace(GetParam());
        address = peer->ask("listen :0");
    }

    static ConnectOptions options(std::string_view said = "hello")
    {
        ConnectOptions result;
        result.queue_pair = {.send_requests = 64, .receive_requests = 64, .segments = 4, .inline_bytes = 64};
        result.private_data = std::as_bytes(std::span{said});
        result.timeout = 60s; // an emulator's, on a busy machine
        return result;
    }
    void connect(int receives = 0)
    {
        peer->tell("accept world " + std::to_string(receives));
        connection = domain.connect(address, options());
        EXPECT_EQ(peer->answer(), "hello");
    }
    Exposed exposed(Access access = all_rights, std::size_t length = large, unsigned seed = 9)
    {
        std::istringstream words{peer->ask("expose " + std::to_string(static_cast<unsigned>(access)) + " " +
                                           std::to_string(length) + " " + std::to_string(seed))};
        std::uint64_t iova = 0;
        std::uint32_t rkey = 0;
        words >> iova >> rkey;
        return {Iova{iova}, RKey{rkey}};
    }
    std::uint64_t peer_sum(std::size_t offset, std::size_t length)
    {
        return peer->ask_number<std::uint64_t>("sum " + std::to_string(offset) + " " + std::to_string(length));
    }
    QueuePair& queue_pair() { return connection->queue_pair(); }
    Completion run(const SendRequest& request)
    {
        queue_pair().post_send(request);
        return Pair::wait(queue_pair());
    }

    std::optional<Peer> peer;
    std::string address;
    std::unique_ptr<Connection> connection;
    Buffer memory{large, 3};
};
MRZ_EVERY_DEVICE(Connections);

TEST_P(Connections, TellEachSideWhatTheOtherSaid)
{
    connect();
    const auto data = connection->private_data();
    EXPECT_EQ(std::string(reinterpret_cast<const char*>(data.data()), 5), "world");
    EXPECT_TRUE(connection->connected());
    EXPECT_FALSE(connection->peer().empty());
}

TEST_P(Connections, CarryWritesOfEachSize)
{
    connect();
    const Exposed far = exposed();
    const Region near = domain.register_memory(memory.bytes(), Access::local_write);
    for (const std::size_t length : {0UL, 1UL, 7UL, 64UL, 4096UL, 4097UL, 65536UL, 1000001UL, large}) {
        const Segment from = segment(near, 0, length);
        EXPECT_EQ(
            run({.opcode = Opcode::rdma_write, .segments = {&from, 1}, .remote_iova = far.iova, .rkey = far.rkey})
                .status,
            WcStatus::success);
        EXPECT_EQ(peer_sum(0, length), sum_of(memory.bytes().first(length)));
    }
}

TEST_P(Connections, CarryReadsOfEachSize)
{
    connect();
    const Exposed far = exposed();
    const Region near = domain.register_memory(memory.bytes(), Access::local_write);
    for (const std::size_t length : {0UL, 1UL, 7UL, 64UL, 4096UL, 4097UL, 65536UL, 1000001UL, large}) {
        const Segment to = segment(near, 0, length);
        const Completion done =
            run({.opcode = Opcode::rdma_read, .segments = {&to, 1}, .remote_iova = far.iova, .rkey = far.rkey});
        EXPECT_EQ(done.status, WcStatus::success);
        EXPECT_EQ(done.byte_length, length);
        EXPECT_EQ(peer_sum(0, length), sum_of(memory.bytes().first(length)));
    }
}

} // namespace
} // namespace mrz::test
