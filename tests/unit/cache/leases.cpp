// SPDX-License-Identifier: BSD-3-Clause
#include "fixture.hpp"

#include <atomic>
#include <memory>

namespace mrz::test {
namespace {

using Leases = CacheTest;
using testing::ElementsAre;

TEST_F(Leases, OfTheSameMemoryShareARegion)
{
    Cache cache{*domain};
    const Lease first = cache.lease(at(3, 2));
    const Lease second = cache.lease(at(3, 2));
    EXPECT_EQ(first.lkey(), second.lkey());
    EXPECT_EQ(script().registered, 1);
    const CacheSnapshot now = cache.snapshot();
    EXPECT_EQ(now.hits, 1u);
    EXPECT_EQ(now.misses, 1u);
    EXPECT_EQ(now.leases, 2u);
    EXPECT_EQ(now.regions, 1u);
    EXPECT_EQ(now.keys, 1u);
    EXPECT_EQ(now.bytes, 2 * page);
    EXPECT_EQ(now.entries, 1u);
}

TEST_F(Leases, LeaveTheRegionForTheNext)
{
    Cache cache{*domain};
    const LKey key = cache.lease(at(0)).lkey();
    EXPECT_EQ(cache.snapshot().leases, 0u);
    EXPECT_EQ(cache.lease(at(0)).lkey(), key);
    EXPECT_EQ(script().keys, 1);
}

TEST_F(Leases, ThatAreAssignedToReleaseWhatTheyHeld)
{
    Cache cache{*domain};
    Lease first = cache.lease(at(0));
    Lease second = cache.lease(at(1));
    const LKey key = second.lkey();
    first = std::move(second);
    EXPECT_EQ(cache.snapshot().leases, 1u);
    Lease& same = first;
    first = std::move(same);
    ASSERT_TRUE(first);
    EXPECT_EQ(first.lkey(), key);
    EXPECT_EQ(cache.snapshot().leases, 1u);
}

TEST_F(Leases, OfAFewBytesHitThePageAroundThem)
{
    Cache cache{*domain};
    for (std::size_t i = 0; i < page; i += 4) {
        const Lease lease = cache.lease(at(7).subspan(i, 4));
        EXPECT_EQ(lease.bytes().data(), at(7).data() + i);
        EXPECT_EQ(lease.bytes().size(), 4u);
        EXPECT_EQ(lease.iova().value(), reinterpret_cast<std::uintptr_t>(at(7).data() + i));
        EXPECT_EQ(lease.region_bytes().data(), at(7).data());
        EXPECT_EQ(lease.region_bytes().size(), page);
    }
    EXPECT_EQ(script().keys, 1);
    EXPECT_EQ(cache.snapshot().hits, page / 4 - 1);
}

TEST_F(Leases, OfTheLastBytesOfAMappingStayWithinIt)
{
    Cache cache{*domain};
    EXPECT_EQ(cache.lease(memory.last(1)).region_bytes().data(), at(pages - 1).data());
    EXPECT_EQ(cache.lease(memory.first(1)).region_bytes().size(), page);
    EXPECT_EQ(cache.lease(at(4, 2).subspan(1, page)).region_bytes().size(), 2 * page); // a byte of each at its end
}

TEST_F(Leases, FindARegionThatCoversThemThoughAnotherBeginsNearer)
{
    Cache cache{*domain, alone()};
    const Lease inner = cache.lease(at(10, 1));
    const Lease outer = cache.lease(at(4, 20));
    EXPECT_EQ(cache.lease(at(11, 2)).lkey(), outer.lkey());
    EXPECT_EQ(cache.lease(at(23, 1)).lkey(), outer.lkey());
    EXPECT_EQ(script().registered, 2);
    EXPECT_NE(cache.lease(at(24, 1)).lkey(), outer.lkey());
}

TEST_F(Leases, OfTwoAdjacentRegionsTogetherAreOfAThird)
{
    Cache cache{*domain, alone()};
    const Lease left = cache.lease(at(0, 2));
    const Lease right = cache.lease(at(2, 2));
    const Lease both = cache.lease(at(1, 2));
    EXPECT_TRUE(covers(both));
    EXPECT_EQ(script().registered, 3);
}

TEST_F(Leases, ForReadingAreServedByRegionsForWritingAndNotTheOtherWayRound)
{
    Cache cache{*domain};
    const Lease writable = cache.lease(at(0), Access::local_write);
    EXPECT_EQ(cache.lease(at(0), Access::local_read).lkey(), writable.lkey());
    const Lease readable = cache.lease(at(8), Access::local_read);
    EXPECT_EQ(readable.access(), Access::local_read);
    const Lease other = cache.lease(at(8), Access::local_write);
    EXPECT_NE(other.lkey(), readable.lkey());
    EXPECT_EQ(other.access(), Access::local_write);
    EXPECT_EQ(cache.lease(at(0), Access::local_read).lkey(), writable.lkey()); // with both kinds there
}

TEST_F(Leases, WithRemoteRightsAreOfExactlyTheRangeAndTheRights)
{
    Cache cache{*domain};
    const Access read = Access::remote_read;
    const Access write = Access::local_write | Access::remote_write;
    const Lease lease = cache.lease(at(5).subspan(100, 200), read);
    EXPECT_EQ(lease.region_bytes().data(), at(5).data() + 100);
    EXPECT_EQ(lease.region_bytes().size(), 200u);
    EXPECT_EQ(cache.lease(at(5).subspan(100, 200), read).rkey(), lease.rkey());
    EXPECT_NE(cache.lease(at(5).subspan(100, 199), read).rkey(), lease.rkey());
    EXPECT_NE(cache.lease(at(5).subspan(101, 199), read).rkey(), lease.rkey());
    EXPECT_NE(cache.lease(at(5).subspan(100, 200), write).rkey(), lease.rkey());
    EXPECT_NE(cache.lease(at(5).subspan(100, 200), read | write).rkey(), lease.rkey());
    const Lease local = cache.lease(at(5).subspan(100, 200));
    EXPECT_FALSE(grants(local.access(), Access::remote_read));
    EXPECT_EQ(local.region_bytes().size(), page);
    EXPECT_EQ(cache.lease(at(5).subspan(100, 200), read).rkey(), lease.rkey());
}

TEST_F(Leases, AreRefusedWhereTheyMakeNoSense)
{
    Cache cache{*domain};
    EXPECT_EQ(refusal([&] { static_cast<void>(cache.lease({})); }).error_number(), EINVAL);
    EXPECT_EQ(refusal([&] { static_cast<void>(cache.lease(at(0).first(0))); }).error_number(), EINVAL);
    EXPECT_EQ(refusal([&] {
                  static_cast<void>(cache.lease({memory.data(), ~std::size_t{0}}));
              }).error_number(),
              EINVAL);
    EXPECT_EQ(refusal([&] { static_cast<void>(cache.lease(at(0), Access::remote_write)); }).error_number(), EINVAL);
    EXPECT_EQ(refusal([&] { static_cast<void>(cache.lease({memory.data() - 1, 2})); }).error_number(), EFAULT);
    EXPECT_EQ(cache.snapshot().keys, 0u);
    EXPECT_EQ(cache.snapshot().bytes, 0u);
    EXPECT_EQ(script().registered, 0);
}

TEST_F(Leases, ARegisteringThatFailsLeavesNothingAndMayBeTriedAgain)
{
    Cache cache{*domain};
    script().on_register = [](const RegisterRequest&) {
        throw Error{EFAULT, {.trouble = Trouble::permission, .what = "x", .limit = "y", .remedy = {}}};
    };
    EXPECT_EQ(refusal([&] { static_cast<void>(cache.lease(at(0))); }).error_number(), EFAULT);
    EXPECT_EQ(cache.snapshot().keys, 0u);
    script().on_register = {};
    EXPECT_TRUE(cache.lease(at(0)));
}

TEST_F(Leases, MoveWithTheirHold)
{
    Cache cache{*domain};
    Lease first = cache.lease(at(0));
    Lease second = std::move(first);
    EXPECT_FALSE(first); // NOLINT(bugprone-use-after-move): what is left of it is said
    EXPECT_EQ(cache.snapshot().leases, 1u);
    second = cache.lease(at(9));
    EXPECT_EQ(cache.snapshot().leases, 1u);
    EXPECT_EQ(second.bytes().data(), at(9).data());
    second.release();
    second.release();
    EXPECT_EQ(cache.snapshot().leases, 0u);
}

TEST_F(Leases, MayBeAThousandAtOnceAndReleasedInAnyOrder)
{
    Cache cache{*domain, alone()};
    std::vector<Lease> leases;
    for (std::size_t i = 0; i < 1000; ++i)
        leases.push_back(cache.lease(at(i % pages)));
    EXPECT_EQ(cache.snapshot().leases, 1000u);
    for (std::size_t i = 0; i < 1000; i += 3)
        leases[i * 7 % 1000].release();
    const std::size_t left = cache.snapshot().leases;
    EXPECT_EQ(left, 666u);
    for (std::size_t i = 0; i < 500; ++i)
        leases.push_back(cache.lease(at(i % pages)));
    EXPECT_EQ(cache.snapshot().leases, left + 500);
    leases.clear();
    EXPECT_EQ(cache.snapshot().leases, 0u);
    EXPECT_EQ(script().keys, static_cast<int>(pages));
}

TEST_F(Leases, MayBeReleasedByAnotherThread)
{
    Cache cache{*domain};
    for (int i = 0; i < 100; ++i) {
        Lease lease = cache.lease(at(0));
        std::thread{[mine = std::move(lease)]() mutable { mine.release(); }}.join();
    }
    EXPECT_EQ(cache.snapshot().leases, 0u);
    // And outlive the thread that took them.
    Lease lease;
    std::thread{[&] { lease = cache.lease(at(1)); }}.join();
    EXPECT_EQ(cache.snapshot().leases, 1u);
    EXPECT_EQ(lease.bytes().data(), at(1).data());
    std::thread{[&] { EXPECT_EQ(cache.lease(at(1)).lkey(), lease.lkey()); }}.join();
    lease.release();
    EXPECT_EQ(cache.snapshot().leases, 0u);
}

} // namespace
} // namespace mrz::test
