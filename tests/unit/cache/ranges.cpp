// SPDX-License-Identifier: BSD-3-Clause
#include "fixture.hpp"

namespace mrz::test {
namespace {

using Merging = CacheTest;

// The made-up device sees virtual addresses, so one entry covers any range, and one key for two saves.

TEST_F(Merging, MakesOneRegionOfIdleNeighbours)
{
    Cache cache{*domain};
    for (const std::size_t one : {3, 4, 6})
        static_cast<void>(cache.lease(at(one)));
    const Lease all = cache.lease(at(5));
    EXPECT_EQ(all.region_bytes().data(), at(3).data());
    EXPECT_EQ(all.region_bytes().size(), 4 * page);
    EXPECT_EQ(cache.lease(at(4)).lkey(), all.lkey());
    EXPECT_EQ(cache.lease(at(3, 4)).lkey(), all.lkey());
    settle(cache);
    EXPECT_EQ(script().registered, 1);
    const CacheSnapshot now = cache.snapshot();
    EXPECT_EQ(now.merges, 1u);
    EXPECT_EQ(now.evictions, 0u);
    EXPECT_EQ(now.bytes, 4 * page);
    EXPECT_EQ(now.entries, 1u);
}

TEST_F(Merging, IsNotWorthPinningFewNeighboursAgain)
{
    Cache cache{*domain};
    for (const std::size_t one : {4, 6, 5}) {
        const Lease lease = cache.lease(at(one));
        EXPECT_EQ(lease.region_bytes().size(), page);
    }
    EXPECT_EQ(cache.snapshot().merges, 0u);
}

TEST_F(Merging, OfOverlappingRangesCoversBoth)
{
    Cache cache{*domain};
    static_cast<void>(cache.lease(at(0, 3)));
    EXPECT_EQ(cache.lease(at(2, 4)).region_bytes().size(), 6 * page);
}

TEST_F(Merging, LeavesNeighboursInUseAlone)
{
    Cache cache{*domain};
    const Lease used = cache.lease(at(4));
    EXPECT_EQ(cache.lease(at(5)).region_bytes().size(), page);
    EXPECT_EQ(cache.lease(at(4)).lkey(), used.lkey());
}

TEST_F(Merging, LeavesOtherRightsAlone)
{
    Cache cache{*domain};
    static_cast<void>(cache.lease(at(4), Access::local_read));
    static_cast<void>(cache.lease(at(6), Access::local_write | Access::remote_read));
    EXPECT_EQ(cache.lease(at(5)).region_bytes().size(), page);
    EXPECT_EQ(cache.lease(at(7), Access::local_write | Access::remote_read).region_bytes().size(), page);
}

TEST_F(Merging, EndsAtTheLongestThatOptionsAllow)
{
    CacheOptions options;
    options.merge_up_to = 4 * page;
    Cache cache{*domain, options};
    std::vector<std::size_t> lengths;
    for (std::size_t i = 4; i < 13; ++i)
        lengths.push_back(cache.lease(at(i)).region_bytes().size() / page);
    // Each fourth is as long as may be, and stays as it is.
    EXPECT_THAT(lengths, testing::ElementsAre(1, 1, 1, 4, 1, 1, 1, 4, 1));
    EXPECT_EQ(cache.lease(at(20, 5)).region_bytes().size(), 5 * page); // longer by itself
}

TEST_F(Merging, PinsAPageAsOftenAsTheLengthDoubles)
{
    std::size_t registered = 0;
    script().on_register = [&](const RegisterRequest& request) { registered += request.length / page; };
    Cache cache{*domain};
    for (std::size_t i = 0; i < pages; ++i)
        static_cast<void>(cache.lease(at(i)));
    EXPECT_LE(registered, pages * 9);
    settle(cache);
    EXPECT_EQ(script().registered, 1);
    EXPECT_EQ(cache.lease(at(0)).region_bytes().size(), pages * page);
}

TEST_F(Merging, ThatFailsFallsBackToTheRangeAskedFor)
{
    Cache cache{*domain};
    for (const std::size_t one : {4, 6, 7})
        static_cast<void>(cache.lease(at(one)));
    int failed = 0;
    script().on_register = [&](const RegisterRequest& request) {
        if (request.length > page) {
            ++failed;
            throw Error{ENOMEM, {.trouble = Trouble::locked_memory, .what = "x", .limit = "y", .remedy = {}}};
        }
    };
    EXPECT_EQ(cache.lease(at(5)).region_bytes().size(), page);
    EXPECT_EQ(failed, 1);
    const CacheSnapshot now = cache.snapshot();
    EXPECT_EQ(now.merges, 0u);
    EXPECT_EQ(now.evictions, 0u);
    EXPECT_EQ(now.bytes, 4 * page);
    EXPECT_EQ(now.regions, 4u);
}

TEST_F(Merging, NeedsRoomForBoth)
{
    CacheOptions options;
    options.bytes = 7 * page;
    Cache cache{*domain, options};
    for (const std::size_t one : {3, 4, 6, 10})
        static_cast<void>(cache.lease(at(one)));
    EXPECT_EQ(cache.lease(at(5)).region_bytes().size(), page); // four more pages have no room beside those four
    EXPECT_EQ(cache.snapshot().evictions, 0u);
}

} // namespace
} // namespace mrz::test
