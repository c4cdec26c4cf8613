// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Commands while the data thread has always something to do.
#include "guest.hpp"

#include "queues/fair_mutex.hpp"

#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>

namespace mrz::queues {
namespace {

using layouts::WqeOpcode;
using namespace std::chrono_literals;

TEST(FairMutex, IsHadByWhoWaitsBeforeWhoTakesItAgain)
{
    constexpr int rounds = 20;
    FairMutex mutex;
    int waited_for = 0;
    for (int round = 0; round < rounds; ++round) {
        std::atomic<bool> begun = false;
        bool had = false;
        std::unique_lock lock{mutex};
        std::thread other{[&] {
            begun = true;
            const std::lock_guard its{mutex};
            had = true;
        }};
        while (!begun)
            std::this_thread::yield();
        std::this_thread::sleep_for(5ms); // by now it waits, unless the machine is very busy
        lock.unlock();
        lock.lock();
        waited_for += had ? 1 : 0;
        lock.unlock();
        other.join();
    }
    EXPECT_GE(waited_for, rounds * 3 / 4);
}

// A command waits for the turn that is under way, and a turn must not last as long as a guest likes.
TEST_F(DataPathTest, ATurnDoesNotMoveAllThatIsPosted)
{
    constexpr unsigned entries = 16;
    DriverCq cq{memory, 5};
    const std::uint32_t cqn = make_cq(cq);
    DriverQp alice{memory, 4, 2};
    DriverQp bob{memory, 4, 2};
    for (DriverQp* const qp : {&alice, &bob})
        qp->number = path.create_qp(qp->options(QpKind::rc, pd, cqn));
    connect(alice.number, bob.number);
    connect(bob.number, alice.number);
    hca::MkeySpec spec;
    spec.mode = hca::KeyMode::null;
    spec.pd = pd;
    spec.rights = hca::KeyRights::local_read | hca::KeyRights::remote_write;
    spec.length = std::uint64_t{1} << 30;
    const std::uint32_t key = engine.create_mkey(spec).value;
    Bytes entry;
    append_control(entry, WqeOpcode::rdma_write, false);
    append_remote(entry, 0, key);
    append_piece(entry, 0, 1U << 30, key);
    for (unsigned i = 0; i < entries; ++i)
        alice.write(ended(entry));
    alice.tell_sends();
    ring(alice);
    EXPECT_TRUE(path.turn());
    EXPECT_EQ(path.query_qp(alice.number).sends_consumed, 1U);
    work();
    EXPECT_EQ(path.query_qp(alice.number).sends_consumed, entries);
    EXPECT_EQ(path.query_qp(alice.number).state, hca::QpState::rts);
}

} // namespace
} // namespace mrz::queues
