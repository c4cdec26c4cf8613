// SPDX-License-Identifier: BSD-3-Clause
#include "fixture.hpp"

#include "support/in_child.hpp"
#include "support/lowered.hpp"

#include <array>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <memory>

#include <signal.h>
#include <unistd.h>

namespace mrz::test {
namespace {

using Lifetimes = CacheTest;

//! The threads of this process that bear the control thread's name.
std::vector<std::filesystem::path> control_threads()
{
    std::vector<std::filesystem::path> found;
    for (const auto& task : std::filesystem::directory_iterator{"/proc/self/task"}) {
        std::string name;
        std::ifstream{task.path() / "comm"} >> name;
        if (name == "mrz-cache")
            found.push_back(task.path());
    }
    return found;
}

//! The kernel lists a thread that was joined for a while.
void expect_no_control_thread()
{
    while (!control_threads().empty())
        std::this_thread::yield();
}

TEST_F(Lifetimes, ACacheHasOneThreadThatTakesNoSignalsAndEndsWithIt)
{
    expect_no_control_thread();
    Cache cache{*domain};
    const auto threads = control_threads();
    ASSERT_EQ(threads.size(), 1u);
    std::ifstream status{threads.front() / "status"};
    unsigned long long blocked = 0;
    for (std::string word; status >> word;)
        if (word == "SigBlk:")
            status >> std::hex >> blocked;
    for (const int signal : {SIGINT, SIGTERM, SIGALRM, SIGUSR1})
        EXPECT_NE(blocked >> (signal - 1) & 1, 0u) << signal;
    static_cast<void>(cache.lease(at(0)));
    cache.close();
    expect_no_control_thread();
}

TEST_F(Lifetimes, CloseRefusesWhileThereAreLeasesAndChangesNothing)
{
    Cache cache{*domain};
    {
        const Lease lease = cache.lease(at(0));
        const Lease other = cache.lease(at(1));
        const Error busy = refusal([&] { cache.close(); });
        EXPECT_EQ(busy.error_number(), EBUSY);
        EXPECT_EQ(busy.cause().trouble, Trouble::busy);
        EXPECT_EQ(busy.cause().present, 2u);
        EXPECT_EQ(cache.lease(at(0)).lkey(), lease.lkey());
    }
    cache.close();
    EXPECT_EQ(script().registered, 0);
    cache.close();
    EXPECT_EQ(refusal([&] { static_cast<void>(cache.lease(at(0))); }).error_number(), EBADF);
    EXPECT_EQ(refusal([&] { static_cast<void>(cache.lease_all(std::vector<LeaseRequest>{{at(0)}})); }).error_number(),
              EBADF);
    EXPECT_EQ(cache.snapshot().keys, 0u);
}

#if !defined(__SANITIZE_THREAD__) // under which membarrier is not used, and no thread can be started in a child
TEST_F(Lifetimes, CloseRefusesWhereItCannotBeKnownWhetherThereAreLeases)
{
    in_child([&] {
        alarm(30); // SIGALRM ends what hangs
        const Domain own = Domain::open("soft");
        Cache cache{own};
        forbid(__NR_membarrier, EPERM);
        const Error unknown = refusal([&] { cache.close(); });
        EXPECT_EQ(unknown.error_number(), EPERM);
        EXPECT_EQ(unknown.cause().trouble, Trouble::permission);
    });
}
#endif

TEST_F(Lifetimes, LeasesOutliveTheirCache)
{
    Lease first;
    Lease second;
    {
        Cache cache{*domain};
        first = cache.lease(at(0));
        second = cache.lease(at(1));
        static_cast<void>(cache.lease(at(9)));
    }
    EXPECT_EQ(script().registered, 2);
    expect_no_control_thread();
    EXPECT_TRUE(covers(first));
    EXPECT_NE(first.lkey(), second.lkey());
    domain.reset();
    first.release();
    EXPECT_EQ(script().domains, 1);
    std::thread{[mine = std::move(second)]() mutable { mine.release(); }}.join();
    EXPECT_EQ(script().domains, 0);
}

TEST_F(Lifetimes, LeasesThatEndedOutliveTheirCacheToo)
{
    Lease lease;
    {
        Cache cache{*domain};
        lease = cache.lease(at(0));
        cache.invalidate(at(0));
        static_cast<void>(cache.lease(at(0)));
    }
    EXPECT_EQ(script().registered, 1);
    lease.release();
    EXPECT_EQ(script().registered, 0);
}

TEST_F(Lifetimes, AnAssignedToCacheGivesItsRegionsBack)
{
    Cache cache{*domain};
    static_cast<void>(cache.lease(at(0)));
    cache = Cache{*domain};
    EXPECT_EQ(script().registered, 0);
    static_cast<void>(cache.lease(at(1)));
    Cache moved{std::move(cache)};
    EXPECT_EQ(moved.snapshot().regions, 1u);
}

TEST_F(Lifetimes, OfManyCachesOneAfterAnotherInOneThreadAreApart)
{
    std::array<std::unique_ptr<Cache>, 3> caches;
    for (int round = 0; round < 50; ++round) {
        auto& cache = caches[static_cast<std::size_t>(round) % caches.size()];
        cache = std::make_unique<Cache>(*domain);
        for (const auto& each : caches)
            if (each) {
                const Lease lease = each->lease(at(static_cast<std::size_t>(round)));
                EXPECT_EQ(each->snapshot().leases, 1u);
            }
        EXPECT_EQ(cache->snapshot().misses, 1u);
        EXPECT_EQ(cache->snapshot().hits, 0u);
    }
}

TEST_F(Lifetimes, ADomainWithACacheThatIsEmptyMayBeClosed)
{
    Cache cache{*domain};
    static_cast<void>(cache.lease(at(0)));
    EXPECT_EQ(refusal([&] { domain->close(); }).error_number(), EBUSY);
    cache.close();
    domain->close();
}

} // namespace
} // namespace mrz::test
