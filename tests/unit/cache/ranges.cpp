// SPDX-License-Identifier: BSD-3-Clause
#include "fixture.hpp"

namespace mrz::test {
namespace {

using Merging = CacheTest;

// The made-up device sees virtual addresses, so one entry covers any range, and one key for two saves.

TEST_F(Merging, MakesOneRegionOfIdleNeighbours)
{
    Cache cache{*domain};
    static_cast<void>(cache.lease(at(4)));
    static_cast<void>(cache.lease(at(6)));
    const Lease both = cache.lease(at(5));
    EXPECT_EQ(both.region_bytes().data(), at(4).data());
    EXPECT_EQ(both.region_bytes().size(), 3 * page);
    EXPECT_EQ(cache.lease(at(4)).lkey(), both.lkey());
    EXPECT_EQ(cache.lease(at(4, 3)).lkey(), both.lkey());
    settle(cache);
    EXPECT_EQ(script().registered, 1);
    const CacheSnapshot now = cache.snapshot();
    EXPECT_EQ(now.merges, 1u);
    EXPECT_EQ(now.evictions, 0u);
    EXPECT_EQ(now.bytes, 3 * page);
    EXPECT_EQ(now.entries, 1u);
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
    options.merge_up_to = 2 * page;
    Cache cache{*domain, options};
    static_cast<void>(cache.lease(at(4, 2)));
    EXPECT_EQ(cache.lease(at(6, 2)).region_bytes().size(), 2 * page);
    EXPECT_EQ(cache.lease(at(8, 1)).region_bytes().size(), page); // its neighbour is as long as may be
    EXPECT_EQ(cache.lease(at(9, 1)).region_bytes().size(), 2 * page);
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
    static_cast<void>(cache.lease(at(4)));
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
    EXPECT_EQ(now.bytes, 2 * page);
    EXPECT_EQ(now.regions, 2u);
}

TEST_F(Merging, NeedsRoomForBoth)
{
    CacheOptions options;
    options.bytes = 3 * page;
    Cache cache{*domain, options};
    static_cast<void>(cache.lease(at(4, 1)));
    static_cast<void>(cache.lease(at(10, 1)));
    EXPECT_EQ(cache.lease(at(5)).region_bytes().size(), page); // two more pages have no room beside those two
    EXPECT_EQ(cache.snapshot().evictions, 0u);
}

} // namespace
} // namespace mrz::test
