// SPDX-License-Identifier: BSD-3-Clause
#include "sockets/listener.hpp"

#include "support/refusal.hpp"
#include "unit/hca_app/scratch_folder.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <thread>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/socket.h>

namespace mrz::sockets {
namespace {

using test::refusal;

class ListenerTest : public testing::Test {
  protected:
    test::ScratchFolder folder;
    std::string path = folder / "socket";
    Stop stop;
};

TEST_F(ListenerTest, TakesClientsAndItsPathAway)
{
    {
        const Listener listener{path};
        const FileDescriptor client = connect(path);
        const auto accepted = listener.accept(stop);
        ASSERT_TRUE(accepted);
        ASSERT_EQ(::send(client.get(), "x", 1, 0), 1);
        char byte = 0;
        EXPECT_EQ(::recv(accepted->get(), &byte, 1, 0), 1);
    }
    EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(ListenerTest, RefusesAPathThatIsInUse)
{
    const Listener first{path};
    EXPECT_EQ(refusal([&] { const Listener second{path}; }).error_number(), EADDRINUSE);
    const FileDescriptor client = connect(path); // the first is there as before
    std::ofstream{path + ".file"} << "text";
    EXPECT_EQ(refusal([&] { const Listener second{path + ".file"}; }).error_number(), EEXIST);
    EXPECT_TRUE(std::filesystem::exists(path + ".file"));
}

TEST_F(ListenerTest, ReplacesWhatAKilledProcessLeft)
{
    std::filesystem::path elsewhere = path + ".old";
    {
        const Listener killed{path};
        std::filesystem::rename(path, elsewhere); // so that it is not removed at the end
    }
    std::filesystem::rename(elsewhere, path);
    const Listener listener{path};
    const FileDescriptor client = connect(path);
    EXPECT_TRUE(listener.accept(stop));
}

TEST_F(ListenerTest, LeavesAPathAloneThatAnotherMadeAnew)
{
    {
        const Listener listener{path};
        std::filesystem::remove(path);
        std::ofstream{path} << "another's";
    }
    EXPECT_TRUE(std::filesystem::exists(path));
}

TEST_F(ListenerTest, RefusesPathsThatAreNone)
{
    EXPECT_EQ(refusal([] { const Listener none{""}; }).error_number(), EINVAL);
    EXPECT_EQ(refusal([&] { const Listener none{folder / std::string(200, 'x')}; }).error_number(), EINVAL);
    EXPECT_EQ(refusal([&] { const Listener none{folder / "no/such/folder"}; }).error_number(), ENOENT);
    EXPECT_EQ(refusal([&] { (void)connect(path); }).error_number(), ENOENT);
}

TEST_F(ListenerTest, IsNotHeldUpByWhoHoldsTheFolder)
{
    const FileDescriptor held{::open((folder / ".").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    ASSERT_EQ(::flock(held.get(), LOCK_EX), 0); // as whoever may read the folder can, for ever
    {
        const Listener listener{path};
        const FileDescriptor client = connect(path);
        EXPECT_TRUE(listener.accept(stop));
    }
    EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(ListenerTest, LetsAClientWaitForWhomThereIsNoDescriptor)
{
    const Listener listener{path};
    EXPECT_FALSE(listener.accept_now().client);
    EXPECT_FALSE(listener.accept_now().has_to_wait) << "nobody is there";
    const FileDescriptor client = connect(path);
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
    // The client's is the lowest that was free.
    const rlimit lowered{static_cast<rlim_t>(client.get()) + 1, before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &lowered), 0);
    const Listener::Accepted refused = listener.accept_now();
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
    EXPECT_FALSE(refused.client);
    EXPECT_TRUE(refused.has_to_wait);
    EXPECT_TRUE(listener.accept_now().client) << "the same one";
}

TEST_F(ListenerTest, SaysWhatIsWrongWithWhoListens)
{
    const Listener listener{path, SOCK_SEQPACKET};
    const Error error = refusal([&] { (void)connect(path); });
    EXPECT_EQ(error.error_number(), EPROTOTYPE);
    EXPECT_NE(error.cause().remedy.find("another path"), std::string::npos);
}

TEST_F(ListenerTest, StopsWaiting)
{
    const Listener listener{path};
    std::thread waiting{[&] { EXPECT_FALSE(listener.accept(stop)); }};
    stop.set();
    waiting.join();
    EXPECT_TRUE(stop.is_set());
}

} // namespace
} // namespace mrz::sockets
