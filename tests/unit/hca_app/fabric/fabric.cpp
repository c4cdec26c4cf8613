// SPDX-License-Identifier: BSD-3-Clause
#include "fabric/fabric.hpp"

#include "support/refusal.hpp"
#include "unit/hca/memory.hpp"
#include "unit/hca_app/scratch_folder.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

namespace mrz::fabric {
namespace {

constexpr PortAddress near_port{17, 0x0215'b3ff'fe00'0001};
constexpr PortAddress far_port{18, 0x0215'b3ff'fe00'0002};

queues::PeerAddress at(const PortAddress& port)
{
    queues::PeerAddress peer;
    peer.lid = port.lid;
    return peer;
}

//! A device, as far as its links go. The test's thread is its data thread.
class Device {
  public:
    Device(const PortAddress& own, const std::vector<std::string>& paths)
        : engine_{memory_}, fabric_{engine_, own, paths, [this] { wake(); }}
    {
    }
    [[nodiscard]] Fabric& fabric() { return fabric_; }
    [[nodiscard]] Fabric::State state() const { return fabric_.state().at(0); }
    //! Works, and waits as the data thread does, until something is so.
    void work_until(const std::function<bool()>& done)
    {
        while (!done()) {
            if (fabric_.work() || !fabric_.prepare_to_sleep())
                continue;
            std::vector<pollfd> descriptors{{woken_.get(), POLLIN, 0}};
            fabric_.watch(descriptors);
            // Longer than anything here takes.
            ASSERT_GT(::poll(descriptors.data(), descriptors.size(), 30'000), 0);
            std::uint64_t count = 0;
            [[maybe_unused]] const auto got = ::read(woken_.get(), &count, sizeof count);
            fabric_.awake(std::span{descriptors}.subspan(1));
        }
    }
    void work_until_up()
    {
        work_until([this] { return state().up; });
    }

  private:
    void wake() const
    {
        const std::uint64_t one = 1;
        [[maybe_unused]] const auto put = ::write(woken_.get(), &one, sizeof one);
    }

    FileDescriptor woken_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    hca::MadeUpMemory memory_;
    hca::Hca engine_;
    Fabric fabric_;
};

class FabricTest : public testing::Test {
  protected:
    test::ScratchFolder folder;
    std::string path = folder / "link";
};

TEST_F(FabricTest, APortReachesItselfAndNobodyElse)
{
    Device alone{near_port, {}};
    EXPECT_TRUE(alone.fabric().route(at(near_port)).reachable);
    EXPECT_FALSE(alone.fabric().route(at(near_port)).link);
    EXPECT_FALSE(alone.fabric().route(at(far_port)).reachable);
    EXPECT_FALSE(alone.fabric().work());
    EXPECT_TRUE(alone.fabric().prepare_to_sleep());
}

TEST_F(FabricTest, TwoDevicesMeetAtAPath)
{
    Device near{near_port, {path}};
    Device far{far_port, {path}};
    near.work_until_up();
    far.work_until_up();
    EXPECT_EQ(near.state().peer, far_port);
    EXPECT_EQ(far.state().peer, near_port);
    EXPECT_TRUE(near.fabric().route(at(far_port)).link);
    EXPECT_TRUE(far.fabric().route(at(near_port)).link);
    EXPECT_FALSE(far.fabric().route(at(far_port)).link) << "itself";
    EXPECT_FALSE(near.fabric().route(at({19, 0})).reachable);
}

TEST_F(FabricTest, APeerThatHasAGidIsReachedUnderNoOther)
{
    Device near{near_port, {path}};
    Device far{far_port, {path}};
    near.work_until_up();
    queues::PeerAddress peer = at(far_port);
    peer.global = true;
    peer.gid = gid_of(near_port);
    EXPECT_FALSE(near.fabric().route(peer).reachable);
    peer.gid = gid_of(far_port);
    EXPECT_TRUE(near.fabric().route(peer).link);
    EXPECT_EQ(std::to_integer<int>(peer.gid[0]), 0xfe);
    EXPECT_EQ(std::to_integer<int>(peer.gid[15]), 2);
}

TEST_F(FabricTest, WhoIsLeftWaitsForTheNextWhicheverWentFirst)
{
    std::optional<Device> near;
    std::optional<Device> far;
    near.emplace(near_port, std::vector{path}); // listens
    far.emplace(far_port, std::vector{path});
    near->work_until_up();
    far.reset();
    near->work_until([&] { return near->state().times_lost == 1; });
    EXPECT_FALSE(near->state().up);
    EXPECT_FALSE(near->fabric().route(at(far_port)).reachable);
    EXPECT_FALSE(near->state().why_lost.empty());
    far.emplace(far_port, std::vector{path});
    near->work_until_up();
    far->work_until_up();
    near.reset(); // the one that listened: now the other does
    far->work_until([&] { return far->state().times_lost == 1; });
    near.emplace(near_port, std::vector{path});
    near->work_until_up();
    far->work_until_up();
    EXPECT_EQ(far->state().times_up, 2u);
}

TEST_F(FabricTest, ADeviceMayHaveSeveralLinks)
{
    const std::vector paths{path, folder / "other"};
    Device middle{near_port, paths};
    Device left{far_port, {paths[0]}};
    Device right{{19, 3}, {paths[1]}};
    middle.work_until([&] {
        const auto all = middle.fabric().state();
        return all[0].up && all[1].up;
    });
    EXPECT_NE(middle.fabric().route(at(far_port)).link, middle.fabric().route(at({19, 3})).link);
    left.work_until_up();
    EXPECT_FALSE(left.fabric().route(at({19, 3})).reachable) << "nobody forwards";
}

//! Connects, says something, and returns the answer.
Received ask(const std::string& path, const Greeting& greeting, bool with_memory = true)
{
    FileDescriptor socket;
    while (!socket.valid()) { // until it listens
        try {
            socket = sockets::connect(path, SOCK_SEQPACKET);
        } catch (const Error&) {
            ::poll(nullptr, 0, 1);
        }
    }
    const hca::WireMemory memory = hca::WireMemory::make();
    send(socket.get(), greeting, with_memory ? memory.descriptor() : -1);
    pollfd wanted{socket.get(), POLLIN, 0};
    ::poll(&wanted, 1, 30'000);
    return receive(socket.get());
}

TEST_F(FabricTest, APeerThatCouldNotBeToldApartIsRefused)
{
    Device near{near_port, {path}};
    for (const PortAddress& other : {PortAddress{near_port.lid, 5}, PortAddress{99, near_port.guid}}) {
        const Received answer = ask(path, make_greeting(Greeting::ask, other));
        ASSERT_EQ(answer.result, Received::Result::greeting);
        EXPECT_EQ(answer.greeting.kind, Greeting::refuse);
        EXPECT_NE(answer.greeting.why().find("both devices have the"), std::string::npos);
    }
    EXPECT_FALSE(near.state().up);
}

TEST_F(FabricTest, AStrangerIsRefusedAndDoesNotStandInTheWay)
{
    Device near{near_port, {path}};
    Greeting strange = make_greeting(Greeting::ask, far_port);
    strange.version = 1000;
    EXPECT_EQ(ask(path, strange).greeting.kind, Greeting::refuse);
    EXPECT_EQ(ask(path, make_greeting(Greeting::ask, far_port), false).greeting.kind, Greeting::refuse);
    EXPECT_NE(ask(path, make_greeting(Greeting::accept, far_port)).result, Received::Result::greeting);
    Device far{far_port, {path}};
    near.work_until_up();
    EXPECT_EQ(ask(path, make_greeting(Greeting::ask, {77, 77})).greeting.why(),
              "two devices are linked here already");
    EXPECT_TRUE(near.state().up);
}

TEST_F(FabricTest, APathThatCanBeNoSocketIsRefusedAtOnce)
{
    for (const std::string& bad : {std::string{}, std::string(200, 'x')})
        EXPECT_EQ(test::refusal([&] { const Device device{near_port, {bad}}; }).error_number(), EINVAL);
}

} // namespace
} // namespace mrz::fabric
