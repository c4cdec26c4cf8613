// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Connections to another process: what two ends do to each other, and what becomes of one when the other ends.
#include "peer.hpp"

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
    struct Polled {
        WcStatus status = WcStatus::general_error;
        WcOpcode opcode = WcOpcode::send;
        std::size_t length = 0;
        std::uint32_t immediate = 0;
        std::uint64_t sum = 0;
    };
    //! A completion of the peer's.
    Polled polled()
    {
        std::istringstream words{peer->ask("poll")};
        int status = 0;
        int opcode = 0;
        Polled result;
        words >> status >> opcode >> result.length >> result.immediate >> result.sum;
        result.status = static_cast<WcStatus>(status);
        result.opcode = static_cast<WcOpcode>(opcode);
        return result;
    }
    void wait_until_lost()
    {
        const auto deadline = std::chrono::steady_clock::now() + 20s;
        while (connection->connected()) {
            ASSERT_LT(std::chrono::steady_clock::now(), deadline) << "still connected";
            std::this_thread::yield();
        }
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

TEST_P(Connections, CarryMessagesWithAndWithoutImmediate)
{
    connect(60);
    const Region near = domain.register_memory(memory.bytes(), Access::local_write);
    for (const std::size_t length : {0UL, 1UL, 64UL, 4096UL, 65536UL}) {
        for (const Opcode opcode : {Opcode::send, Opcode::send_with_immediate}) {
            const Segment from = segment(near, 100, length);
            EXPECT_EQ(run({.opcode = opcode, .segments = {&from, 1}, .immediate = 0xfeed}).status, WcStatus::success);
            const Polled got = polled();
            EXPECT_EQ(got.status, WcStatus::success);
            EXPECT_EQ(got.opcode, WcOpcode::receive);
            EXPECT_EQ(got.length, length);
            EXPECT_EQ(got.immediate, opcode == Opcode::send ? 0U : 0xfeedU);
            EXPECT_EQ(got.sum, sum_of(memory.bytes().subspan(100, length)));
        }
    }
}

TEST_P(Connections, CarryWritesWithImmediate)
{
    connect(1);
    const Exposed far = exposed();
    const Region near = domain.register_memory(memory.bytes(), Access::local_write);
    const Segment from = segment(near, 0, 300'000);
    EXPECT_EQ(run({.opcode = Opcode::rdma_write_with_immediate,
                   .segments = {&from, 1},
                   .immediate = 7,
                   .remote_iova = far.iova,
                   .rkey = far.rkey})
                  .status,
              WcStatus::success);
    const Polled got = polled();
    EXPECT_EQ(got.opcode, WcOpcode::receive_rdma_with_immediate);
    EXPECT_EQ(got.length, 300'000u);
    EXPECT_EQ(got.immediate, 7u);
    EXPECT_EQ(peer_sum(0, 300'000), sum_of(memory.bytes().first(300'000)));
}

TEST_P(Connections, CarryAtomics)
{
    connect();
    const Exposed far = exposed();
    const Region near = domain.register_memory(memory.bytes(), Access::local_write);
    const Segment to = segment(near, 0, 8);
    const auto brought = [this] {
        std::uint64_t value = 0;
        std::memcpy(&value, memory.bytes().data(), sizeof value);
        return value;
    };
    SendRequest add{.opcode = Opcode::atomic_fetch_and_add,
                    .segments = {&to, 1},
                    .remote_iova = far.iova,
                    .rkey = far.rkey,
                    .swap_or_add = 3};
    EXPECT_EQ(run(add).status, WcStatus::success);
    const std::uint64_t was = brought();
    EXPECT_EQ(run(add).status, WcStatus::success);
    EXPECT_EQ(brought(), was + 3);
    SendRequest swap{.opcode = Opcode::atomic_compare_and_swap,
                     .segments = {&to, 1},
                     .remote_iova = far.iova,
                     .rkey = far.rkey,
                     .compare = was + 6,
                     .swap_or_add = 42};
    EXPECT_EQ(run(swap).status, WcStatus::success);
    EXPECT_EQ(brought(), was + 6);
    EXPECT_EQ(run(add).status, WcStatus::success);
    EXPECT_EQ(brought(), 42u);
}

TEST_P(Connections, CarryManyAtOnceInOrder)
{
    connect();
    const Exposed far = exposed();
    const Region near = domain.register_memory(memory.bytes(), Access::local_write);
    std::uint64_t posted = 0;
    for (std::uint64_t ended = 0; ended < 1000; ++ended) {
        for (; posted < 1000 && posted - ended < 32; ++posted) {
            const Segment local = segment(near, posted * 500, 10'000);
            queue_pair().post_send({.id = posted,
                                    .opcode = posted % 3 == 0 ? Opcode::rdma_read : Opcode::rdma_write,
                                    .segments = {&local, 1},
                                    .remote_iova = far.iova + posted * 500,
                                    .rkey = far.rkey});
        }
        const Completion done = Pair::wait(queue_pair());
        ASSERT_EQ(done.status, WcStatus::success);
        ASSERT_EQ(done.id, ended);
    }
}

TEST_P(Connections, TheOtherSideMaySendAsWell)
{
    connect();
    static_cast<void>(exposed());
    const Region near = domain.register_memory(memory.bytes(), all_rights);
    peer->ask("post " + std::to_string(static_cast<int>(Opcode::rdma_write)) + " 200000 " +
              std::to_string(near.iova().value()) + " " + std::to_string(near.rkey().value));
    EXPECT_EQ(polled().status, WcStatus::success);
    EXPECT_EQ(sum_of(memory.bytes().first(200'000)), peer_sum(0, 200'000));
}

TEST_P(Connections, RefuseWhatAKeyDoesNotGrant)
{
    struct Case {
        const char* why;
        Access granted;
        Opcode opcode;
        std::uint64_t offset;
        std::uint32_t other_key;
    };
    for (const Case& it :
         {Case{"no such key", all_rights, Opcode::rdma_write, 0, 0x5500},
          Case{"its variant byte", all_rights, Opcode::rdma_write, 0, 1},
          Case{"out of bounds", all_rights, Opcode::rdma_write, large - 4095, 0},
          Case{"out of bounds, reading", all_rights, Opcode::rdma_read, large - 4095, 0},
          Case{"no right to write", Access::local_write | Access::remote_read, Opcode::rdma_write, 0, 0},
          Case{"no right to read", Access::local_write | Access::remote_write, Opcode::rdma_read, 0, 0},
          Case{"no right at all", Access::local_write, Opcode::rdma_read, 0, 0}}) {
        connect();
        const Exposed far = exposed(it.granted);
        const std::uint64_t before = peer_sum(0, large);
        const Region near = domain.register_memory(memory.bytes(), Access::local_write);
        const std::vector<std::byte> near_before = memory.copy();
        const Segment local = segment(near, 0, 4096);
        EXPECT_EQ(run({.opcode = it.opcode,
                       .segments = {&local, 1},
                       .remote_iova = far.iova + it.offset,
                       .rkey = RKey{far.rkey.value ^ it.other_key}})
                      .status,
                  WcStatus::remote_access_error)
            << it.why;
        EXPECT_EQ(peer_sum(0, large), before) << it.why;
        EXPECT_TRUE(same(memory.bytes(), near_before)) << it.why;
    }
}

TEST_P(Connections, AKeyThatWasTakenBackIsRefusedAtOnce)
{
    connect();
    const Exposed far = exposed();
    const Region near = domain.register_memory(memory.bytes(), Access::local_write);
    const Segment local = segment(near, 0, 4096);
    const SendRequest write{
        .opcode = Opcode::rdma_write, .segments = {&local, 1}, .remote_iova = far.iova, .rkey = far.rkey};
    EXPECT_EQ(run(write).status, WcStatus::success);
    peer->ask("forget");
    EXPECT_EQ(run(write).status, WcStatus::remote_access_error);
}

TEST_P(Connections, AKeyThatWasIssuedAnewIsRefusedUnderItsOldValue)
{
    connect();
    const Exposed far = exposed();
    const Region near = domain.register_memory(memory.bytes(), Access::local_write);
    const Segment local = segment(near, 0, 4096);
    SendRequest write{
        .opcode = Opcode::rdma_write, .segments = {&local, 1}, .remote_iova = far.iova, .rkey = far.rkey};
    peer->tell("reissue");
    const std::string answer = peer->any_answer();
    if (answer.starts_with("error " + std::to_string(ENOTSUP))) { // the driver does not choose keys
        EXPECT_EQ(run(write).status, WcStatus::success);
        return;
    }
    ASSERT_TRUE(answer.starts_with("ok ")) << answer;
    write.rkey = RKey{static_cast<std::uint32_t>(std::stoul(answer.substr(3)))};
    EXPECT_NE(write.rkey.value & 0xff, far.rkey.value & 0xff);
    EXPECT_EQ(run(write).status, WcStatus::success);
    write.rkey = far.rkey;
    EXPECT_EQ(run(write).status, WcStatus::remote_access_error);
}

TEST_P(Connections, ASendWaitsForAReceive)
{
    connect();
    const Region near = domain.register_memory(memory.bytes(), Access::local_write);
    const Segment local = segment(near, 0, 4096);
    queue_pair().post_send({.segments = {&local, 1}});
    Completion none;
    for (int i = 0; i < 1000; ++i)
        ASSERT_EQ(queue_pair().poll({&none, 1}), 0u);
    peer->ask("receive 1");
    EXPECT_EQ(Pair::wait(queue_pair()).status, WcStatus::success);
}

TEST_P(Connections, ASendWithoutPatienceFails)
{
    peer->tell("accept world 0");
    ConnectOptions impatient = options();
    impatient.queue_pair.rnr_retry = 0;
    connection = domain.connect(address, impatient);
    peer->answer();
    const Region near = domain.register_memory(memory.bytes(), Access::local_write);
    const Segment local = segment(near, 0, 4096);
    EXPECT_EQ(run({.segments = {&local, 1}}).status, WcStatus::rnr_retry_exceeded);
}

TEST_P(Connections, ARefusalSaysWhy)
{
    peer->tell("refuse not today");
    try {
        connection = domain.connect(address, options());
        ADD_FAILURE() << "it was refused";
    } catch (const Error& error) {
        EXPECT_EQ(error.error_number(), ECONNREFUSED);
        EXPECT_EQ(error.cause().trouble, Trouble::peer);
        EXPECT_THAT(error.what(), testing::HasSubstr("not today"));
    }
    peer->answer();
    connect(); // the listener takes others
}

TEST_P(Connections, ARequestThatNobodyAnswersIsRefused)
{
    peer->tell("drop");
    EXPECT_THROW(connection = domain.connect(address, options()), Error);
    peer->answer();
}

TEST_P(Connections, NobodyThereIsAnError)
{
    {
        const auto listener = domain.listen(":0");
        address = listener->address();
    }
    try {
        connection = domain.connect(address, options());
        ADD_FAILURE() << "there is nobody";
    } catch (const Error& error) {
        EXPECT_EQ(error.cause().trouble, Trouble::peer);
    }
}

TEST_P(Connections, TooMuchPrivateDataIsRefused)
{
    EXPECT_THROW(connection = domain.connect(address, options(std::string(most_private_data + 1, 'x'))), Error);
}

TEST_P(Connections, APeerThatDisconnectsIsNoticed)
{
    connect();
    peer->ask("disconnect");
    wait_until_lost();
    const Region near = domain.register_memory(memory.bytes(), Access::local_write);
    const Segment local = segment(near, 0, 4096);
    queue_pair().post_send({.segments = {&local, 1}});
    const Completion done = Pair::wait(queue_pair());
    EXPECT_THAT(done.status, testing::AnyOf(WcStatus::flush_error, WcStatus::retry_exceeded));
}

TEST_P(Connections, DisconnectingFlushesAndThePeerNotices)
{
    connect();
    const Region near = domain.register_memory(memory.bytes(), Access::local_write);
    const Segment local = segment(near, 0, 4096);
    queue_pair().post_receive({.id = 3, .segments = {&local, 1}});
    connection->disconnect();
    connection->disconnect();
    EXPECT_FALSE(connection->connected());
    const Completion done = Pair::wait(queue_pair());
    EXPECT_EQ(done.id, 3u);
    EXPECT_EQ(done.status, WcStatus::flush_error);
    peer->ask("wait_lost");
}

TEST_P(Connections, APeerThatIsKilledUnderLoadEndsAllThatIsUnderWay)
{
    const auto pinned = [] {
        std::ifstream status{"/proc/self/status"};
        for (std::string line; std::getline(status, line);) {
            if (line.starts_with("VmPin:"))
                return line;
        }
        return std::string{};
    };
    const auto descriptors = [] {
        return std::distance(std::filesystem::directory_iterator{"/proc/self/fd"},
                             std::filesystem::directory_iterator{});
    };
    peer.reset();
    const std::string pinned_before = pinned();
    // What a device holds for its first connection it may go on holding.
    std::ptrdiff_t descriptors_before = 0;
    for (int round = 0; round < 3; ++round) {
        peer.emplace(GetParam());
        address = peer->ask("listen :0");
        connect();
        static_cast<void>(exposed());
        const Region near = domain.register_memory(memory.bytes(), all_rights);
        peer->ask("traffic " + std::to_string(near.iova().value()) + " " + std::to_string(near.rkey().value) +
                  " 100000");
        const Segment local = segment(near, 100'000, 4096); // what the peer does not write meanwhile
        for (std::uint64_t id = 0; id < 16; ++id)
            queue_pair().post_send({.id = id, .segments = {&local, 1}}); // which nobody receives
        Completion none;
        for (int polls = 0; polls < 3000 * round; ++polls) // at another moment each time
            ASSERT_EQ(queue_pair().poll({&none, 1}), 0u);
        peer->kill();
        for (std::uint64_t id = 0; id < 16; ++id) {
            const Completion done = Pair::wait(queue_pair());
            EXPECT_EQ(done.id, id);
            EXPECT_THAT(done.status, testing::AnyOf(WcStatus::retry_exceeded, WcStatus::flush_error));
        }
        wait_until_lost();
        connection.reset();
        peer.reset();
        if (round == 0)
            descriptors_before = descriptors();
    }
    EXPECT_EQ(pinned(), pinned_before);
    EXPECT_EQ(descriptors(), descriptors_before);
}

TEST_P(Connections, AKilledListenerIsAnErrorForWhoConnects)
{
    std::thread killer{[this] { peer->kill(); }};
    try {
        ConnectOptions brief = options();
        brief.timeout = 20s;
        connection = domain.connect(address, brief); // nobody accepts
        ADD_FAILURE() << "nobody is there";
    } catch (const Error& error) {
        EXPECT_EQ(error.cause().trouble, Trouble::peer);
    }
    killer.join();
}

TEST_P(Connections, NobodyWhoAnswersIsATimeout)
{
    ConnectOptions brief = options();
    brief.timeout = 50ms;
    try {
        connection = domain.connect(address, brief);
        ADD_FAILURE() << "nobody accepts";
    } catch (const Error& error) {
        EXPECT_EQ(error.cause().trouble, Trouble::peer);
        EXPECT_EQ(error.error_number(), ETIMEDOUT);
    }
}

} // namespace
} // namespace mrz::test
