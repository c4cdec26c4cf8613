// SPDX-License-Identifier: BSD-3-Clause
#include "mrz/fragmentation.hpp"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace mrz::app {
namespace {

std::vector<DmaAddress> pages(const std::set<std::uint64_t>& numbers)
{
    std::vector<DmaAddress> frames;
    for (const std::uint64_t number : numbers)
        frames.emplace_back(number * 2_MiB);
    return frames;
}

TEST(Fragmentation, CountsAlignedBlocksOnly)
{
    // 1-2 lie together and straddle; 4-7 are a whole block of 8 MiB, and two of 4 MiB.
    EXPECT_EQ(count_blocks(pages({1, 2, 4, 5, 6, 7, 9}), 2_MiB, 16_MiB),
              (std::vector<Blocks>{{4_MiB, 2}, {8_MiB, 1}, {16_MiB, 0}}));
}

TEST(Fragmentation, GoesBeyondTheLargestWhileThereAreBlocks)
{
    std::set<std::uint64_t> all;
    for (std::uint64_t i = 0; i < 8; ++i)
        all.insert(i);
    EXPECT_EQ(count_blocks(pages(all), 2_MiB, 4_MiB), (std::vector<Blocks>{{4_MiB, 4}, {8_MiB, 2}, {16_MiB, 1}}));
    EXPECT_EQ(count_blocks({}, 1_GiB, 2_GiB), (std::vector<Blocks>{{2_GiB, 0}}));
}

TEST(Fragmentation, CountsWhatACountBlockByBlockCounts)
{
    std::mt19937 random{7};
    for (int round = 0; round < 200; ++round) {
        std::set<std::uint64_t> free;
        std::bernoulli_distribution is_free{0.5 + 0.49 * (round % 2)};
        for (std::uint64_t page = 0; page < 256; ++page)
            if (is_free(random))
                free.insert(page);
        for (const Blocks& blocks : count_blocks(pages(free), 2_MiB, 512_MiB)) {
            const std::uint64_t length = blocks.size / 2_MiB;
            std::uint64_t expected = 0;
            for (std::uint64_t begin = 0; begin < 256; begin += length) {
                std::uint64_t held = 0;
                for (std::uint64_t page = begin; page < begin + length; ++page)
                    held += free.count(page) == 0 ? 1 : 0;
                expected += held == 0 ? 1 : 0;
            }
            EXPECT_EQ(blocks.count, expected) << blocks.size;
        }
    }
}

TEST(Fragmentation, SaysWhatWasLeftAloneAndWhatIsUnknown)
{
    const Pool pool{.page_size = 2_MiB, .total = 12, .free = 10};
    const PoolFragmentation seen =
        fragmentation_of(pool, {.pages = 4, .frames = pages({0, 1, 2, 9}), .hidden = false});
    EXPECT_EQ(seen.extents, 2U);
    EXPECT_EQ(seen.left_alone(), 6U);
    const std::string text = to_text(FragmentationReport{.pools = {seen}, .note = {}});
    EXPECT_NE(text.find("10 free, 4 looked at, 6 left alone"), std::string::npos) << text;

    const FragmentationReport report{.pools = {fragmentation_of(pool, {.pages = 1, .frames = {}, .hidden = true})},
                                     .note = frames_note(true, false)};
    EXPECT_NE(to_text(report).find("frames are hidden; guaranteed: blocks of 2 MiB"), std::string::npos)
        << to_text(report);
    const Json json = to_json(report);
    EXPECT_TRUE(json.at("fragmentation").at(0).at("blocks").is_null());
    EXPECT_EQ(json.at("fragmentation").at(0).at("guaranteed"), 2_MiB);
    EXPECT_FALSE(json.at("unknown").is_null());
}

} // namespace
} // namespace mrz::app
