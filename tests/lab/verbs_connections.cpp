// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! What of connections is the verbs driver's own: addresses, devices, and who is refused how. That they carry data as
//! they should is for the conformance suite.
#include "rxe0.hpp"

#include "support/in_child.hpp"
#include "support/refusal.hpp"
#include "support/require.hpp"

#include <mrzone/host.hpp>
#include <mrzone/region.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <future>
#include <string>
#include <vector>

#include <csignal>
#include <unistd.h>

namespace mrz::test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

constexpr std::chrono::milliseconds patience = 60s; // an emulator's, on a busy machine

std::span<const std::byte> bytes_of(const std::string& text)
{
    return std::as_bytes(std::span{text});
}

std::string text_of(std::span<const std::byte> bytes)
{
    const std::string text{reinterpret_cast<const char*>(bytes.data()), bytes.size()};
    return text.substr(0, text.find('\0'));
}

Completion wait(QueuePair& queue_pair)
{
    Completion completion;
    const auto deadline = std::chrono::steady_clock::now() + 60s;
    while (queue_pair.poll({&completion, 1}) == 0) {
        if (std::chrono::steady_clock::now() > deadline) {
            ADD_FAILURE() << "no completion in a minute";
            completion.status = WcStatus::general_error;
            break;
        }
    }
    return completion;
}

class VerbsConnections : public testing::Test {
  protected:
    void SetUp() override
    {
        MRZ_REQUIRE(has_rxe0(), "there is no device rxe0");
        domain = Domain::open("rxe0");
    }

    struct Both {
        std::unique_ptr<Connection> near;
        std::unique_ptr<Connection> far;
    };
    //! The near one asked, the far one accepted.
    Both connect(const std::string& at = "", const ConnectOptions& options = {.timeout = patience},
                 const ConnectOptions& answer = {.timeout = patience})
    {
        const auto listener = domain->listen(at);
        auto asking = std::async(std::launch::async, [&] { return domain->connect(listener->address(), options); });
        const auto request = listener->wait(60s);
        EXPECT_NE(request, nullptr);
        Both both;
        if (request)
            both.far = request->accept(answer);
        both.near = asking.get();
        return both;
    }

    std::optional<Domain> domain;
};

TEST_F(VerbsConnections, ListenAtAnAddressOfTheDeviceOrAtAll)
{
    for (const std::string at : {"", ":0", "10.0.0.1", "10.0.0.1:0"}) {
        const auto listener = domain->listen(at);
        EXPECT_THAT(listener->address(), testing::StartsWith("10.0.0.1:")) << at;
        EXPECT_FALSE(listener->address().ends_with(":0"));
        EXPECT_EQ(listener->wait(0ms), nullptr);
    }
    const auto first = domain->listen("10.0.0.1:7471");
    EXPECT_EQ(first->address(), "10.0.0.1:7471");
    const Error again = refusal([&] { static_cast<void>(domain->listen("10.0.0.1:7471")); });
    EXPECT_EQ(again.error_number(), EADDRINUSE);
    EXPECT_EQ(again.cause().trouble, Trouble::busy);
}

TEST_F(VerbsConnections, RefuseAddressesThatAreNoneOrAnothers)
{
    for (const char* const at : {"10.0.0.1:x", "[::1", "10.0.0.1:70000"})
        EXPECT_EQ(refusal([&] { static_cast<void>(domain->listen(at)); }).error_number(), EINVAL) << at;
    for (const char* const at : {"", "10.0.0.1", ":7", "10.0.0.1:0"})
        EXPECT_EQ(refusal([&] { static_cast<void>(domain->connect(at)); }).error_number(), EINVAL) << at;
    const Error unknown = refusal([&] { static_cast<void>(domain->listen("192.0.2.1:7")); });
    EXPECT_EQ(unknown.error_number(), EHOSTUNREACH) << unknown.what();
    EXPECT_EQ(unknown.cause().trouble, Trouble::unsupported);
    const Error unreachable =
        refusal([&] { static_cast<void>(domain->connect("192.0.2.1:7", {.timeout = patience})); });
    EXPECT_EQ(unreachable.error_number(), EHOSTUNREACH) << unreachable.what();
}

TEST_F(VerbsConnections, CarryDataAndWhatTheTwoSaidBefore)
{
    const std::string question(56, 'q');
    const std::string answer(56, 'a');
    const Both both = connect("", {.private_data = bytes_of(question), .timeout = patience},
                              {.private_data = bytes_of(answer), .timeout = patience});
    ASSERT_TRUE(both.near && both.far);
    EXPECT_TRUE(both.near->connected());
    EXPECT_TRUE(both.far->connected());
    EXPECT_THAT(text_of(both.near->private_data()), testing::StartsWith(answer));
    EXPECT_EQ(text_of(both.far->private_data()), question);
    EXPECT_THAT(both.near->peer(), testing::StartsWith("10.0.0.1:"));
    std::vector<std::byte> from(100'000, std::byte{7});
    std::vector<std::byte> to(100'000);
    const Region source = domain->register_memory(from);
    const Region target = domain->register_memory(to, Access::local_write | Access::remote_write);
    const Segment segment{source.iova(), 100'000, source.lkey()};
    SendRequest write{
        .opcode = Opcode::rdma_write, .segments = {&segment, 1}, .remote_iova = target.iova(), .rkey = target.rkey()};
    both.near->queue_pair().post_send(write);
    EXPECT_EQ(wait(both.near->queue_pair()).status, WcStatus::success);
    EXPECT_EQ(from, to);
    EXPECT_EQ(refusal([&] { both.near->queue_pair().connect(both.far->queue_pair().local()); }).error_number(),
              EISCONN);
    write.rkey = RKey{0};
    both.near->queue_pair().post_send(write);
    EXPECT_EQ(wait(both.near->queue_pair()).status, WcStatus::remote_access_error);
}

TEST_F(VerbsConnections, AreRefusedWithTheReasonOfThePeer)
{
    const auto listener = domain->listen("");
    auto asking = std::async(std::launch::async, [&] {
        return refusal([&] { static_cast<void>(domain->connect(listener->address(), {.timeout = patience})); });
    });
    const auto request = listener->wait(60s);
    ASSERT_NE(request, nullptr);
    request->refuse("come back tomorrow");
    const Error refused = asking.get();
    EXPECT_EQ(refused.error_number(), ECONNREFUSED);
    EXPECT_EQ(refused.cause().trouble, Trouble::peer);
    EXPECT_THAT(refused.what(), HasSubstr("come back tomorrow"));
    EXPECT_EQ(refusal([&] { static_cast<void>(request->accept({.timeout = patience})); }).error_number(), EALREADY);
}

TEST_F(VerbsConnections, AreRefusedWhereNobodyListensOrTakesThem)
{
    const Error nobody = refusal([&] { static_cast<void>(domain->connect("10.0.0.1:7477", {.timeout = patience})); });
    EXPECT_EQ(nobody.error_number(), ECONNREFUSED) << nobody.what();
    EXPECT_THAT(nobody.cause().limit, HasSubstr("nobody listens"));

    auto listener = domain->listen("");
    const std::string address = listener->address();
    auto asking = std::async(std::launch::async, [&] {
        return refusal([&] { static_cast<void>(domain->connect(address, {.timeout = patience})); });
    });
    {
        const auto request = listener->wait(60s);
        ASSERT_NE(request, nullptr);
    } // neither accepted nor refused
    EXPECT_EQ(asking.get().error_number(), ECONNREFUSED);
}

TEST_F(VerbsConnections, GiveUpOnAPeerThatDoesNotAnswer)
{
    const auto listener = domain->listen("");
    const Error late = refusal([&] { static_cast<void>(domain->connect(listener->address(), {.timeout = 200ms})); });
    EXPECT_EQ(late.error_number(), ETIMEDOUT) << late.what();
    EXPECT_EQ(late.cause().trouble, Trouble::peer);
    // The listener is none the worse for it.
    auto asking =
        std::async(std::launch::async, [&] { return domain->connect(listener->address(), {.timeout = patience}); });
    std::unique_ptr<Connection> far;
    while (!far) {
        const auto request = listener->wait(60s);
        ASSERT_NE(request, nullptr);
        try {
            far = request->accept({.timeout = patience});
        } catch (const Error& error) {
            EXPECT_EQ(error.cause().trouble, Trouble::peer) << error.what(); // of the one that gave up
        }
    }
    EXPECT_TRUE(asking.get()->connected());
}

TEST_F(VerbsConnections, EndOnBothSidesWhenOneDisconnects)
{
    Both both = connect();
    ASSERT_TRUE(both.near && both.far);
    std::vector<std::byte> memory(64);
    const Region region = domain->register_memory(memory, Access::local_write);
    const Segment segment{region.iova(), 64, region.lkey()};
    for (Connection* const side : {both.near.get(), both.far.get()})
        side->queue_pair().post_receive({.id = 5, .segments = {&segment, 1}});
    both.near->disconnect();
    both.near->disconnect();
    EXPECT_FALSE(both.near->connected());
    // Neither asks whether it is connected: polling is enough.
    for (Connection* const side : {both.near.get(), both.far.get()}) {
        const Completion flushed = wait(side->queue_pair());
        EXPECT_EQ(flushed.id, 5u);
        EXPECT_EQ(flushed.status, WcStatus::flush_error);
    }
    EXPECT_FALSE(both.far->connected());
}

TEST_F(VerbsConnections, EndWhenThePeerIsKilled)
{
    const auto listener = domain->listen("");
    const std::string address = listener->address();
    const std::uint64_t before = host::locked_memory().pinned.value_or(0);
    const pid_t child = start_child([&] {
        const Domain own = Domain::open("rxe0");
        std::vector<std::byte> memory(1 << 20);
        const Region region = own.register_memory(memory, Access::local_write | Access::remote_write);
        const RemoteRegion remote = region.remote();
        const auto packed = remote.pack();
        const auto connection = own.connect(address, {.private_data = packed, .timeout = patience});
        while (true)
            ::pause();
    });
    const auto request = listener->wait(60s);
    ASSERT_NE(request, nullptr);
    const RemoteRegion remote = RemoteRegion::unpack(request->private_data());
    std::vector<std::byte> memory(1 << 20);
    {
        const Region region = domain->register_memory(memory, Access::local_write);
        const Segment segment{region.iova(), 1 << 20, region.lkey()};
        const auto connection = request->accept({.timeout = patience}, [&](QueuePair& queue_pair) {
            queue_pair.post_receive({.id = 1, .segments = {&segment, 1}});
        });
        SendRequest write{.id = 2,
                          .opcode = Opcode::rdma_write,
                          .segments = {&segment, 1},
                          .remote_iova = remote.iova,
                          .rkey = remote.rkey};
        WcStatus status = WcStatus::success;
        for (int round = 0; status == WcStatus::success; ++round) {
            if (round == 5)
                ::kill(child, SIGKILL);
            connection->queue_pair().post_send(write);
            const Completion done = wait(connection->queue_pair());
            status = done.status;
            EXPECT_EQ(done.id, status == WcStatus::success ? 2u : done.id);
        }
        EXPECT_THAT(status, testing::AnyOf(WcStatus::retry_exceeded, WcStatus::flush_error,
                                           WcStatus::remote_access_error, WcStatus::remote_operation_error));
        EXPECT_NE(wait(connection->queue_pair()).status, WcStatus::success); // the other of the two
        const auto deadline = std::chrono::steady_clock::now() + 60s;
        while (connection->connected() && std::chrono::steady_clock::now() < deadline)
            ;
        EXPECT_FALSE(connection->connected());
    }
    EXPECT_EQ(wait_for(child), SIGKILL);
    EXPECT_EQ(host::locked_memory().pinned.value_or(0), before);
}

} // namespace
} // namespace mrz::test
