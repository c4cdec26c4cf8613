// SPDX-License-Identifier: BSD-3-Clause
#include "fixture.hpp"

#include "support/in_child.hpp"

#include <atomic>
#include <optional>

#include <unistd.h>

namespace mrz::test {
namespace {

using CacheAfterFork = CacheTest;

TEST_F(CacheAfterFork, IsOfNoUseButMayBeDestroyed)
{
    std::optional<Cache> cache;
    cache.emplace(*domain);
    std::optional<Lease> lease = cache->lease(at(0));
    static_cast<void>(cache->lease(at(1)));
    in_child([&] {
        alarm(30); // SIGALRM ends what hangs
        script().on_register = [](const RegisterRequest&) { ADD_FAILURE() << "the parent's device was asked"; };
        script().on_deregister = [](LKey) { ADD_FAILURE() << "the parent's region went"; };
        EXPECT_EQ(refusal([&] { static_cast<void>(cache->lease(at(0))); }).error_number(), ENOTSUP);
        EXPECT_EQ(refusal([&] { static_cast<void>(cache->lease(at(7))); }).error_number(), ENOTSUP);
        EXPECT_EQ(
            refusal([&] { static_cast<void>(cache->lease_all(std::vector<LeaseRequest>{{at(0)}})); }).error_number(),
            ENOTSUP);
        EXPECT_EQ(refusal([&] { cache->close(); }).error_number(), ENOTSUP);
        EXPECT_EQ(refusal([&] { static_cast<void>(cache->snapshot()); }).error_number(), ENOTSUP);
        cache->invalidate(memory);
        lease.reset();
        cache.reset();
        script().on_register = {};
        script().on_deregister = {};
#if !defined(__SANITIZE_THREAD__) // which allows no new threads here
        const Domain own = Domain::open("soft");
        Cache mine{own};
        EXPECT_TRUE(mine.lease(at(3)));
        mine.close();
#endif
    });
    EXPECT_EQ(cache->snapshot().leases, 1u);
    EXPECT_EQ(cache->snapshot().invalidations, 0u);
    EXPECT_EQ(script().registered, 2);
    EXPECT_EQ(cache->lease(at(0)).lkey(), lease->lkey());
}

TEST_F(CacheAfterFork, InAChildThatWasForkedAmidMissesEndsWithoutWaiting)
{
    std::optional<Cache> cache;
    cache.emplace(*domain, alone({.keys = 4}));
    std::atomic<bool> stop = false;
    std::thread other{[&] {
        for (std::size_t i = 0; !stop; ++i)
            static_cast<void>(cache->lease(at(i % pages)));
    }};
    for (int i = 0; i < 30; ++i)
        in_child([&] {
            alarm(30);
            EXPECT_EQ(refusal([&] { static_cast<void>(cache->lease(at(0))); }).error_number(), ENOTSUP);
            cache.reset();
        });
    stop = true;
    other.join();
}

} // namespace
} // namespace mrz::test
