// SPDX-License-Identifier: BSD-3-Clause
#include <hca/cache.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <list>
#include <random>
#include <vector>

using namespace mrz::hca;

namespace {

// Sets as lists of tags, the most recently used in front.
struct PlainCache {
    PlainCache(std::size_t set_count, std::size_t way_count) : sets(set_count), ways{way_count} {}

    void touch(std::uint64_t tag)
    {
        std::list<std::uint64_t>& set = sets[tag % sets.size()];
        const auto found = std::find(set.begin(), set.end(), tag);
        ++(found != set.end() ? hits : misses);
        if (found != set.end())
            set.erase(found);
        set.push_front(tag);
        if (set.size() > ways)
            set.pop_back();
    }
    void forget(std::uint64_t first, std::uint64_t count)
    {
        for (std::list<std::uint64_t>& set : sets)
            set.remove_if([&](std::uint64_t tag) { return tag >= first && tag < first + count; });
    }

    std::vector<std::list<std::uint64_t>> sets;
    std::size_t ways;
    std::uint64_t hits = 0;
    std::uint64_t misses = 0;
};

} // namespace

TEST(Cache, AgreesWithAPlainModel)
{
    std::mt19937 random{7};
    for (const CacheGeometry geometry : {CacheGeometry{1, 1}, {1, 8}, {16, 1}, {7, 3}, {64, 4}}) {
        Cache cache{geometry};
        PlainCache plain{geometry.sets, geometry.ways};
        EXPECT_EQ(cache.capacity(), geometry.sets * geometry.ways);
        for (int step = 0; step < 5000; ++step) {
            const std::uint64_t tag = random() % (2 * geometry.sets * geometry.ways + 2);
            if (random() % 20 == 0) {
                const std::uint64_t count = random() % (2 * geometry.sets + 1);
                cache.forget(tag, count);
                plain.forget(tag, count);
            } else {
                cache.touch(tag);
                plain.touch(tag);
            }
            ASSERT_EQ(cache.counts().hits, plain.hits) << geometry.sets << " x " << geometry.ways << ", " << step;
            ASSERT_EQ(cache.counts().misses, plain.misses);
        }
        EXPECT_GT(plain.hits, 0u);
    }
}

TEST(Cache, WithoutEntriesCountsNothing)
{
    for (const CacheGeometry geometry : {CacheGeometry{0, 0}, {0, 4}, {4, 0}}) {
        Cache cache{geometry};
        cache.touch(1);
        cache.forget(0, 100);
        EXPECT_FALSE(cache.enabled());
        EXPECT_EQ(cache.counts().hits + cache.counts().misses, 0u);
    }
}
