// SPDX-License-Identifier: BSD-3-Clause
#include "fixture.hpp"

#include <atomic>
#include <fstream>
#include <string>

namespace mrz::test {
namespace {

using Invalidation = CacheTest;

TEST_F(Invalidation, ForgetsWhatTouchesTheRangeAndNothingElse)
{
    Cache cache{*domain, alone()};
    const LKey before = cache.lease(at(0)).lkey();
    const LKey touched = cache.lease(at(4, 2)).lkey();
    const LKey after = cache.lease(at(8)).lkey();
    cache.invalidate({at(5).data() + page - 1, 1});
    EXPECT_EQ(cache.lease(at(0)).lkey(), before);
    EXPECT_EQ(cache.lease(at(8)).lkey(), after);
    EXPECT_NE(cache.lease(at(4, 2)).lkey(), touched);
    EXPECT_EQ(cache.snapshot().invalidations, 1u);
    settle(cache);
    EXPECT_EQ(script().registered, 3);
    cache.invalidate({});
    cache.invalidate(at(6, 2)); // between regions
    EXPECT_EQ(cache.snapshot().invalidations, 1u);
}

TEST_F(Invalidation, DeregistersAfterTheLastLease)
{
    Cache cache{*domain};
    Lease first = cache.lease(at(0));
    Lease second = cache.lease(at(0));
    cache.invalidate(at(0));
    const Lease other = cache.lease(at(0));
    EXPECT_NE(other.lkey(), first.lkey());
    EXPECT_EQ(script().registered, 2);
    first.release();
    cache.invalidate(at(9));
    EXPECT_EQ(script().registered, 2);
    std::thread{[&] { second.release(); }}.join();
    wait_until([] { return script().registered == 1; });
    EXPECT_EQ(cache.snapshot().regions, 1u);
}

//! How often this thread has written to a file, as who wakes the control thread does.
std::uint64_t writes_of_this_thread()
{
    std::ifstream counts{"/proc/thread-self/io"};
    for (std::string word; counts >> word;)
        if (word == "syscw:") {
            std::uint64_t count = 0;
            counts >> count;
            return count;
        }
    return 0; // the kernel does not count
}

// The thread that holds it goes on to lease other memory.
TEST_F(Invalidation, OfWhatIsHeldForLongDoesNotMakeAllReleasesWork)
{
    Cache cache{*domain, alone()};
    const Lease held = cache.lease(at(0));
    static_cast<void>(cache.lease(at(9)));
    cache.invalidate(at(0));
    static_cast<void>(cache.lease(at(20))); // who misses collects what ended, if nobody has
    const std::uint64_t before = writes_of_this_thread();
    for (int i = 0; i < 1000; ++i)
        static_cast<void>(cache.lease(at(9)));
    EXPECT_LT(writes_of_this_thread() - before, 100u) << "a sanitizer writes a few times, too";
    EXPECT_EQ(cache.snapshot().hits, 1000u);
}

TEST_F(Invalidation, LetsWhatItHidComeOut)
{
    Cache cache{*domain, alone()};
    const Lease small = cache.lease(at(3));
    const LKey large = cache.lease(at(0, 8)).lkey();
    static_cast<void>(cache.lease(at(3)));
    cache.invalidate(at(7)); // of the large one alone, which was found for page 3, too
    const Lease found = cache.lease(at(3));
    EXPECT_EQ(found.lkey(), small.lkey());
    EXPECT_NE(found.lkey(), large);
}

TEST_F(Invalidation, EndsARegionThatIsOnItsWay)
{
    std::atomic<bool> asked = false;
    std::atomic<bool> go = false;
    script().on_register = [&](const RegisterRequest&) {
        asked = true;
        while (!go)
            std::this_thread::yield();
    };
    Cache cache{*domain};
    Lease old;
    std::thread other{[&] { old = cache.lease(at(0)); }};
    wait_until([&] { return asked.load(); });
    cache.invalidate(at(0));
    go = true;
    other.join();
    EXPECT_TRUE(old); // it was asked for before
    EXPECT_EQ(cache.snapshot().invalidations, 1u);
    const Lease fresh = cache.lease(at(0));
    EXPECT_NE(fresh.lkey(), old.lkey());
    old.release();
    wait_until([] { return script().registered == 1; });
}

TEST_F(Invalidation, KeepsLeasesWaitingWhileItIsPending)
{
    Cache cache{*domain};
    const LKey stale = cache.lease(at(0)).lkey();
    cache.set_pending(true);
    cache.set_pending(true);
    std::atomic<bool> done = false;
    Lease lease;
    std::thread other{[&] {
        lease = cache.lease(at(0));
        done = true;
    }};
    cache.set_pending(false);
    for (int i = 0; i < 1000; ++i)
        std::this_thread::yield();
    EXPECT_FALSE(done);
    cache.invalidate(at(0));
    cache.set_pending(false);
    other.join();
    EXPECT_NE(lease.lkey(), stale);
}

TEST_F(Invalidation, OfEverythingLeavesNothing)
{
    Cache cache{*domain, alone()};
    for (std::size_t i = 0; i < 100; ++i)
        static_cast<void>(cache.lease(at(i)));
    cache.invalidate(memory);
    settle(cache);
    EXPECT_EQ(script().registered, 0);
    EXPECT_EQ(cache.snapshot().invalidations, 100u);
    EXPECT_EQ(cache.snapshot().bytes, 0u);
}

} // namespace
} // namespace mrz::test
