// SPDX-License-Identifier: BSD-3-Clause
#include "storage/workload.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <stdexcept>
#include <vector>

namespace bench::storage {
namespace {

constexpr WorkloadOptions usual{
    .block_size = 64, .blocks = 1000, .run = 10, .warm_up = 300, .timed = 20'000, .depth = 8, .read_percent = 70};

std::set<std::uint32_t> blocks_of(std::span<const Operation> operations)
{
    std::set<std::uint32_t> blocks;
    for (const Operation& one : operations)
        blocks.insert(one.block);
    return blocks;
}

TEST(StorageWorkload, GoesToAFifthOfTheBlocksInFourOfFiveOperations)
{
    const Workload workload{usual};
    ASSERT_EQ(workload.timed().size(), usual.timed);
    std::vector<std::size_t> uses(usual.blocks);
    for (const Operation& one : workload.timed())
        ++uses.at(one.block);
    // A hot block is used 80 times, a cold one 5 times, about.
    const std::size_t hot = static_cast<std::size_t>(std::ranges::count_if(uses, [](auto n) { return n > 30; }));
    EXPECT_EQ(hot, usual.blocks / 5);
    std::size_t to_hot = 0;
    for (const std::size_t n : uses)
        to_hot += n > 30 ? n : 0;
    EXPECT_NEAR(static_cast<double>(to_hot) / static_cast<double>(usual.timed), 0.8, 0.02);
    const auto reads = std::ranges::count(workload.timed(), false, &Operation::write);
    EXPECT_NEAR(static_cast<double>(reads) / static_cast<double>(usual.timed), 0.7, 0.02);
    // Ten in a row are hot together.
    for (std::size_t i = 0; i < uses.size(); ++i)
        EXPECT_EQ(uses[i] > 30, uses[i / 10 * 10] > 30) << i;
}

TEST(StorageWorkload, WarmsUpWithTheHotBlocksFirstAndTimesTheSameWithout)
{
    const Workload warm{usual};
    WorkloadOptions options = usual;
    options.warm_up = 0;
    const Workload cold{options};
    ASSERT_EQ(warm.timed().size(), cold.timed().size());
    for (std::size_t i = 0; i < warm.timed().size(); ++i)
        ASSERT_EQ(warm.timed()[i].block, cold.timed()[i].block) << i;
    EXPECT_EQ(blocks_of(warm.warm_up().first(300)).size(), 300u);
    EXPECT_EQ(warm.all().size() % usual.depth, 0u);
    EXPECT_GE(cold.warm_up().size(), usual.timed / 2);
}

TEST(StorageWorkload, AWriteOfABlockThatIsBeingReadWaitsForIt)
{
    WorkloadOptions options = usual;
    options.blocks = 20;
    options.run = 1;
    options.warm_up = 0;
    const Workload workload{options};
    const auto all = workload.all();
    std::size_t fences = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
        bool being_read = false;
        for (std::size_t j = i - std::min(i, options.depth - 1); j < i; ++j)
            being_read = being_read || (all[j].block == all[i].block && !all[j].write);
        ASSERT_EQ(all[i].fence, all[i].write && being_read) << i;
        fences += all[i].fence ? 1 : 0;
    }
    EXPECT_GT(fences, 100u);
}

class StorageCheck : public testing::Test {
  protected:
    static constexpr std::size_t block = 64;
    static constexpr std::size_t blocks = 100;

    //! Does what a device would.
    void run(std::span<const Operation> operations)
    {
        fill(memory, store);
        for (const Operation& one : operations) {
            std::byte* const near = memory.data() + one.block * block;
            std::byte* const far = store.data() + one.block * block;
            std::memcpy(one.write ? far : near, one.write ? near : far, block);
        }
    }

    const Workload workload{{.block_size = block, .blocks = blocks, .timed = 60, .read_percent = 50}};
    std::vector<std::byte> memory = std::vector<std::byte>(block * blocks);
    std::vector<std::byte> store = std::vector<std::byte>(block * blocks);
};

TEST_F(StorageCheck, IsContentWithWhatOperationsMake)
{
    run(workload.all());
    EXPECT_NO_THROW(check(memory, store, workload.all(), block));
    ASSERT_LT(blocks_of(workload.all()).size(), blocks) << "all were used: nothing shows that others stay";
}

TEST_F(StorageCheck, FindsEveryWrongByte)
{
    run(workload.all());
    for (std::vector<std::byte>* const side : {&memory, &store})
        for (std::byte& byte : *side) {
            byte ^= std::byte{1};
            ASSERT_THROW(check(memory, store, workload.all(), block), std::runtime_error);
            byte ^= std::byte{1};
        }
}

TEST_F(StorageCheck, FindsAnOperationThatWasNotDoneOrDoneOtherwise)
{
    const std::vector<Operation> right{{.block = 3}, {.block = 5, .write = true}, {.block = 5}};
    run(right);
    EXPECT_NO_THROW(check(memory, store, right, block));
    for (const std::vector<Operation>& wrong :
         std::vector<std::vector<Operation>>{{{.block = 5, .write = true}, {.block = 5}},
                                             {{.block = 3}},
                                             {{.block = 3, .write = true}, {.block = 5, .write = true}},
                                             {{.block = 3}, {.block = 5}, {.block = 5, .write = true}},
                                             {{.block = 3}, {.block = 5, .write = true}, {.block = 6}}}) {
        run(wrong);
        EXPECT_THROW(check(memory, store, right, block), std::runtime_error);
    }
}

} // namespace
} // namespace bench::storage
