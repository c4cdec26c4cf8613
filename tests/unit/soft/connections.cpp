// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! What the software adapter's connections stand that is no peer of theirs: addresses, strangers, forks, other users.
#include "address.hpp"
#include "device.hpp"
#include "handshake.hpp"

#include "support/in_child.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <sys/socket.h>
#include <unistd.h>

namespace mrz::soft {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

std::uint16_t listen_port(std::string_view text)
{
    return port_of(text, true, "waiting");
}

int refusal(std::string_view text, bool may_choose = false)
{
    try {
        port_of(text, may_choose, "connecting");
    } catch (const Error& error) {
        return error.error_number();
    }
    return 0;
}

TEST(SoftAddress, NamesThisMachineInManyWays)
{
    for (const char* text : {":7471", "localhost:7471", "LOCALHOST:7471", "127.0.0.1:7471", "127.1.2.3:7471",
                             "[::1]:7471", "[localhost]:7471"})
        EXPECT_EQ(port_of(text, false, "connecting"), 7471) << text;
    char name[256] = {};
    ASSERT_EQ(::gethostname(name, sizeof name - 1), 0);
    EXPECT_EQ(port_of(std::string{name} + ":1", false, "connecting"), 1);
    for (const char* text : {"", ":0", "localhost", "localhost:0", "[::1]", "[::1]:0"})
        EXPECT_EQ(listen_port(text), 0) << text;
}

TEST(SoftAddress, RefusesOtherMachinesAndWhatIsNone)
{
    for (const char* text : {"192.0.2.1:7471", "example.invalid:7471", "[2001:db8::1]:7471"})
        EXPECT_EQ(refusal(text), EHOSTUNREACH) << text;
    for (const char* text : {":", "localhost", "localhost:", ":0", ":65536", ":-1", ":+1", ":7471x", "::1:7471",
                             "[::1", "[::1]7471", "[::1]:", "a:b:7471"})
        EXPECT_EQ(refusal(text), EINVAL) << text;
}

std::size_t descriptors()
{
    return static_cast<std::size_t>(
        std::distance(std::filesystem::directory_iterator{"/proc/self/fd"}, std::filesystem::directory_iterator{}));
}

//! Whether this process has the adapter's thread.
bool has_thread()
{
    for (const auto& entry : std::filesystem::directory_iterator{"/proc/self/task"}) {
        std::ifstream file{entry.path() / "comm"};
        std::string name;
        if (std::getline(file, name) && name == "mrz-soft")
            return true;
    }
    return false;
}

//! A stranger that has connected to a listener.
FileDescriptor stranger_at(std::uint16_t port)
{
    FileDescriptor socket{::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)};
    const SocketAddress at = socket_address(port);
    EXPECT_EQ(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&at.address), at.length), 0);
    return socket;
}

//! What a stranger is told; empty if it just is hung up on.
std::string told(const FileDescriptor& socket)
{
    EXPECT_TRUE(wait_readable(socket.get(), std::chrono::steady_clock::now() + 20s));
    const Received received = receive(socket.get());
    return received.result == Received::Result::greeting ? received.greeting.text() : std::string{};
}

class SoftConnections : public testing::Test {
  protected:
    //! Both ends in this process.
    void connect()
    {
        std::thread other{[this] { near = domain->connect(listener->address(), {}, {}); }};
        const auto request = listener->wait(20s);
        ASSERT_TRUE(request);
        far = request->accept({}, {});
        other.join();
    }
    [[nodiscard]] FileDescriptor stranger() const
    {
        return stranger_at(port_of(listener->address(), false, "connecting"));
    }

    std::shared_ptr<Adapter> adapter = Adapter::get();
    std::shared_ptr<Device> device = make_device(adapter);
    std::unique_ptr<ProtectionDomain> domain = device->allocate_domain();
    std::unique_ptr<Listener> listener = domain->listen("localhost:0");
    std::unique_ptr<Connection> near;
    std::unique_ptr<Connection> far;
};

TEST_F(SoftConnections, AProcessMayConnectToItself)
{
    connect();
    EXPECT_TRUE(near->connected());
    far->disconnect();
    while (near->connected())
        std::this_thread::yield();
}

TEST_F(SoftConnections, TheThreadLivesAsLongAsThereAreConnections)
{
    EXPECT_FALSE(has_thread());
    const std::size_t before = descriptors();
    connect();
    EXPECT_TRUE(has_thread());
    near.reset();
    EXPECT_TRUE(has_thread());
    far.reset();
    EXPECT_FALSE(has_thread());
    EXPECT_EQ(descriptors(), before);
}

TEST_F(SoftConnections, APortIsTakenOnce)
{
    try {
        const auto second = domain->listen(listener->address());
        ADD_FAILURE() << "two listeners at one port";
    } catch (const Error& error) {
        EXPECT_EQ(error.error_number(), EADDRINUSE);
        EXPECT_EQ(error.cause().trouble, Trouble::busy);
    }
}

TEST_F(SoftConnections, AStrangerWhoSaysNothingKeepsNobodyFromConnecting)
{
    std::vector<FileDescriptor> silent;
    for (int i = 0; i < 100; ++i) {
        silent.push_back(stranger());
        if (i % 20 == 19) {
            EXPECT_FALSE(listener->wait(0ms));
        }
    }
    connect();
    EXPECT_TRUE(near->connected());
}

TEST_F(SoftConnections, AStrangerWhoSaysNonsenseIsToldSo)
{
    for (const std::size_t length :
         {std::size_t{1}, sizeof(Greeting) - 1, sizeof(Greeting), sizeof(Greeting) + 1, std::size_t{10'000}}) {
        const FileDescriptor socket = stranger();
        const std::string nonsense(length, 'x');
        ASSERT_EQ(::send(socket.get(), nonsense.data(), nonsense.size(), 0), static_cast<ssize_t>(length));
        EXPECT_FALSE(listener->wait(0ms));
        EXPECT_THAT(told(socket), HasSubstr("another version"));
    }
}

TEST_F(SoftConnections, AGreetingWithoutMemoryOrWithTheWrongOneIsRefused)
{
    const Greeting greeting = make_greeting(Greeting::ask, 5, {});
    {
        const FileDescriptor socket = stranger();
        ASSERT_TRUE(send(socket.get(), greeting));
        EXPECT_FALSE(listener->wait(0ms));
        EXPECT_FALSE(told(socket).empty());
    }
    const FileDescriptor socket = stranger();
    ASSERT_TRUE(send(socket.get(), greeting, 0)); // standard input
    EXPECT_FALSE(listener->wait(0ms));
    EXPECT_THAT(told(socket), HasSubstr("sealed"));
}

TEST_F(SoftConnections, ARequestThatNobodyTakesIsRefused)
{
    std::string why;
    std::thread other{[&] {
        try {
            near = domain->connect(listener->address(), {}, {});
        } catch (const Error& error) {
            why = error.what();
        }
    }};
    auto request = listener->wait(20s);
    ASSERT_TRUE(request);
    request.reset();
    other.join();
    EXPECT_THAT(why, HasSubstr("nobody took the request"));
}

TEST_F(SoftConnections, AnEndOfTheListenerIsToldToWhoWaits)
{
    const FileDescriptor waiting = stranger();
    const hca::WireMemory memory = hca::WireMemory::make();
    ASSERT_TRUE(send(waiting.get(), make_greeting(Greeting::ask, 5, {}), memory.descriptor()));
    listener.reset();
    EXPECT_THAT(told(waiting), HasSubstr("the listener has ended"));
}

TEST_F(SoftConnections, OneUsersProcessesAndRootMeet)
{
    if (::geteuid() != 0)
        GTEST_SKIP() << "needs root, to be somebody else for a while";
    // Root meets everybody, so the listener must be somebody, too.
    test::expect_success(test::start_child([] {
        ASSERT_EQ(::setresuid(65534, 65534, 65534), 0);
        ucred root{1, 0, 0};
        ucred same{1, 65534, 0};
        ucred other{1, 4711, 0};
        EXPECT_TRUE(may_meet(root));
        EXPECT_TRUE(may_meet(same));
        EXPECT_FALSE(may_meet(other));
    }));
}

TEST(SoftConnectionsOfUsers, AnotherUserIsRefusedByEachSideWithTheReason)
{
    if (::geteuid() != 0)
        GTEST_SKIP() << "needs root, to be two other users";
    std::array<int, 2> address{};
    std::array<int, 2> end{};
    ASSERT_EQ(::pipe(address.data()), 0);
    ASSERT_EQ(::pipe(end.data()), 0);
    const pid_t listening = test::start_child([&] {
        ::close(end[1]);
        ASSERT_EQ(::setresuid(65534, 65534, 65534), 0);
        const auto device = make_device(Adapter::get());
        const auto domain = device->allocate_domain();
        const auto listener = domain->listen("localhost:0");
        const std::uint16_t port = port_of(listener->address(), false, "listening");
        ASSERT_EQ(::write(address[1], &port, sizeof port), static_cast<ssize_t>(sizeof port));
        while (!wait_readable(end[0], std::chrono::steady_clock::now()))
            EXPECT_FALSE(listener->wait(20ms));
    });
    std::uint16_t port = 0;
    ASSERT_EQ(::read(address[0], &port, sizeof port), static_cast<ssize_t>(sizeof port));
    test::expect_success(test::start_child([&] {
        ASSERT_EQ(::setresuid(4711, 4711, 4711), 0);
        const auto device = make_device(Adapter::get());
        const auto domain = device->allocate_domain();
        try {
            static_cast<void>(domain->connect("localhost:" + std::to_string(port), {}, {}));
            ADD_FAILURE() << "connected";
        } catch (const Error& error) {
            EXPECT_EQ(error.cause().trouble, Trouble::peer);
            EXPECT_THAT(error.what(), HasSubstr("of user 65534 listens there"));
        }
        // One who does not look who listens there.
        EXPECT_THAT(told(stranger_at(port)), HasSubstr("only processes of one user, or root, connect"));
    }));
    for (const int descriptor : {address[0], address[1], end[0], end[1]})
        ::close(descriptor);
    test::expect_success(listening);
}

TEST_F(SoftConnections, AChildsCopiesDoNothing)
{
    connect();
    test::expect_success(test::start_child([this] {
        EXPECT_FALSE(near->connected());
        Completion none;
        EXPECT_EQ(near->queue_pair().poll({&none, 1}), 0u);
        EXPECT_THROW(near->queue_pair().post_send({}), Error);
        near->disconnect();
        near.reset();
        far.reset();
        listener.reset();
        domain.reset();
        device.reset();
        adapter.reset();
    }));
    EXPECT_TRUE(near->connected());
    EXPECT_TRUE(far->connected());
    near->queue_pair().post_send({.id = 5, .opcode = Opcode::rdma_write}); // no bytes: no key is looked at
    Completion done;
    while (near->queue_pair().poll({&done, 1}) == 0)
        std::this_thread::yield();
    EXPECT_EQ(done.status, WcStatus::success);
}

TEST_F(SoftConnections, APeerWhoseChildKeepsTheSocketIsNoticedAllTheSame)
{
    const std::string address = listener->address();
    int held[2];
    ASSERT_EQ(::pipe(held), 0);
    const pid_t peer = test::start_child([&] {
        const auto own = make_device(Adapter::get());
        const auto own_domain = own->allocate_domain();
        const auto connection = own_domain->connect(address, {}, {});
        if (::fork() == 0) { // has all descriptors, until the test is over
            char nothing = 0;
            ::close(held[1]);
            [[maybe_unused]] const auto got = ::read(held[0], &nothing, 1);
            ::_exit(0);
        }
        ::pause();
    });
    const auto request = listener->wait(20s);
    ASSERT_TRUE(request);
    const auto connection = request->accept({}, {});
    EXPECT_TRUE(connection->connected());
    ::kill(peer, SIGKILL);
    test::wait_for(peer);
    while (connection->connected())
        std::this_thread::yield();
    ::close(held[0]);
    ::close(held[1]);
}

} // namespace
} // namespace mrz::soft
