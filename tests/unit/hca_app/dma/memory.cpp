// SPDX-License-Identifier: BSD-3-Clause
#include "dma/memory.hpp"

#include "support/refusal.hpp"
#include "unit/hca_app/shared_file.hpp"

#include <gmock/gmock.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace mrz::dma {
namespace {

using hca::Direction;
using test::refusal;
using test::SharedFile;

class GuestMemory : public testing::Test {
  protected:
    void map(std::uint64_t at, std::uint64_t bytes, std::uint64_t offset, bool writable = true)
    {
        memory.exclusively([&] {
            memory.map({.at = DmaAddress{at}, .bytes = bytes, .readable = true, .writable = writable}, file.fd(),
                       offset);
        });
    }
    void map_nothing(std::uint64_t at, std::uint64_t bytes)
    {
        memory.map_nothing({.at = DmaAddress{at}, .bytes = bytes});
    }
    std::size_t answers(std::uint64_t at, std::uint64_t length, Direction direction = Direction::write)
    {
        return memory.memory(DmaAddress{at}, length, direction).size();
    }
    int refused(const std::function<void()>& call) { return refusal(call).error_number(); }

    SharedFile file{1_MiB};
    Memory memory;
};

TEST_F(GuestMemory, AnswersWithTheBytesOfTheFileAndNoMore)
{
    map(0x10'0000, 0x2000, 0x3000);
    file[0x3000] = std::byte{1};
    file[0x4fff] = std::byte{2};
    EXPECT_EQ(memory.memory(DmaAddress{0x10'0000}, 1, Direction::read)[0], std::byte{1});
    EXPECT_EQ(memory.memory(DmaAddress{0x10'1fff}, 1, Direction::read)[0], std::byte{2});
    EXPECT_EQ(answers(0x10'0000, ~std::uint64_t{0}), 0x2000u);
    EXPECT_EQ(answers(0x10'1ffe, 100), 2u);
    EXPECT_EQ(answers(0x0f'ffff, 1), 0u);
    EXPECT_EQ(answers(0x10'2000, 1), 0u);
    EXPECT_EQ(answers(~std::uint64_t{0}, 1), 0u);
}

TEST_F(GuestMemory, IsTheGuestsOwnInBothDirections)
{
    map(0, 0x1000, 0x1000);
    const std::array<std::byte, 3> three{std::byte{1}, std::byte{2}, std::byte{3}};
    ASSERT_TRUE(write(memory, DmaAddress{0x10}, three));
    EXPECT_EQ(file[0x1012], std::byte{3});
    file[0x1011] = std::byte{9};
    std::array<std::byte, 2> two{};
    ASSERT_TRUE(read(memory, DmaAddress{0x11}, two));
    EXPECT_EQ(two[0], std::byte{9});
}

TEST_F(GuestMemory, AccessGoesOnInTheNextRangeAndFailsInAHole)
{
    map(0x1000, 0x1000, 0x5000);
    map(0x2000, 0x1000, 0);
    std::array<std::byte, 0x20> bytes{};
    file[0x5fff] = std::byte{5};
    file[0] = std::byte{6};
    ASSERT_TRUE(read(memory, DmaAddress{0x1ff0}, bytes));
    EXPECT_EQ(bytes[0x0f], std::byte{5});
    EXPECT_EQ(bytes[0x10], std::byte{6});
    EXPECT_FALSE(read(memory, DmaAddress{0x2ff0}, bytes));
    EXPECT_FALSE(write(memory, DmaAddress{0xff0}, bytes));
}

TEST_F(GuestMemory, ReadOnlyMemoryIsNotWritten)
{
    map(0, 0x1000, 0, false);
    EXPECT_EQ(answers(0, 1, Direction::write), 0u);
    EXPECT_EQ(answers(0, 1, Direction::read), 1u);
    EXPECT_FALSE(write(memory, DmaAddress{0}, std::array{std::byte{1}}));
    EXPECT_FALSE(store32(memory, DmaAddress{0}, 1));
    EXPECT_EQ(load32(memory, DmaAddress{0}), 0u);
}

TEST_F(GuestMemory, WordsAreAlignedAndInOnePiece)
{
    map(0, 0x1000, 0);
    EXPECT_TRUE(store64(memory, DmaAddress{8}, 0x0102'0304'0506'0708));
    EXPECT_EQ(load64(memory, DmaAddress{8}), 0x0102'0304'0506'0708u);
    EXPECT_EQ(load32(memory, DmaAddress{8}), 0x0506'0708u);
    EXPECT_TRUE(store8(memory, DmaAddress{0xfff}, 7));
    EXPECT_FALSE(store32(memory, DmaAddress{2}, 1));
    EXPECT_EQ(load64(memory, DmaAddress{4}), std::nullopt);
    EXPECT_EQ(load32(memory, DmaAddress{0x1000}), std::nullopt);
}

TEST_F(GuestMemory, RangesWithoutMemoryAnswerNothingAndKeepOthersOut)
{
    map_nothing(0xc'0000, 0x4000);
    EXPECT_EQ(answers(0xc'0000, 1), 0u);
    EXPECT_EQ(refused([this] { map(0xc'3000, 0x2000, 0); }), EEXIST);
    EXPECT_EQ(memory.counts().ranges, 1u);
    EXPECT_EQ(memory.counts().without_memory, 1u);
    EXPECT_EQ(memory.counts().bytes, 0u);
    memory.unmap(DmaAddress{0xc'0000}, 0x4000);
    map(0xc'3000, 0x2000, 0);
    EXPECT_EQ(memory.counts().bytes, 0x2000u);
}

TEST_F(GuestMemory, RefusesWhatOverlaps)
{
    map(0x4000, 0x4000, 0);
    for (const std::uint64_t at : {0x4000, 0x1000, 0x7000, 0x5000})
        EXPECT_EQ(refused([&] { map(at, 0x4000, 0); }), EEXIST) << at;
    EXPECT_EQ(refused([&] { map(0x5000, 0x1000, 0); }), EEXIST);
    EXPECT_EQ(refused([&] { map(0, 0x1'0000, 0); }), EEXIST);
    map(0x3000, 0x1000, 0);
    map(0x8000, 0x1000, 0);
    EXPECT_EQ(memory.counts().ranges, 3u);
}

TEST_F(GuestMemory, RefusesRangesThatAreNone)
{
    EXPECT_EQ(refused([&] { map(0, 0, 0); }), EINVAL);
    EXPECT_EQ(refused([&] { map(0x800, 0x1000, 0); }), EINVAL);
    EXPECT_EQ(refused([&] { map(0, 0x800, 0); }), EINVAL);
    EXPECT_EQ(refused([&] { map(0, 0x1000, 0x800); }), EINVAL);
    EXPECT_EQ(refused([&] { map(~std::uint64_t{0xfff}, 0x2000, 0); }), EINVAL);
    EXPECT_EQ(refused([&] { map(0x1000, ~std::uint64_t{0xfff}, 0); }), EINVAL);
    EXPECT_EQ(
        refused([&] { memory.map({.at = {}, .bytes = 0x1000, .readable = false, .writable = false}, file.fd(), 0); }),
        EINVAL);
    map(~std::uint64_t{0xfff}, 0x1000, 0);
    EXPECT_EQ(answers(~std::uint64_t{0}, 5), 1u);
}

TEST_F(GuestMemory, RefusesWhatTheFileDoesNotHold)
{
    EXPECT_EQ(refused([&] { map(0, 0x2000, 1_MiB - 0x1000); }), EINVAL);
    EXPECT_EQ(refused([&] { map(0, 0x1000, 1_MiB); }), EINVAL);
    EXPECT_EQ(refused([&] { map(0, 0x1000, ~std::uint64_t{0xfff}); }), EINVAL);
    EXPECT_EQ(refused([&] { memory.map({.at = {}, .bytes = 0x1000}, -1, 0); }), EBADF);
    EXPECT_EQ(memory.counts().ranges, 0u);
    map(0, 0x1000, 1_MiB - 0x1000);
}

TEST_F(GuestMemory, RefusesAFileThatMayShrink)
{
    const SharedFile other{0x1000, 0};
    const Error error = refusal([&] { memory.map({.at = {}, .bytes = 0x1000}, other.fd(), 0); });
    EXPECT_EQ(error.error_number(), EINVAL);
    EXPECT_THAT(error.what(), testing::HasSubstr("memory-backend-memfd"));
}

TEST_F(GuestMemory, UnmapsWholeRangesOnly)
{
    map(0x1000, 0x1000, 0);
    map(0x2000, 0x2000, 0);
    map(0x5000, 0x1000, 0);
    EXPECT_EQ(refused([&] { memory.unmap(DmaAddress{0x2000}, 0x1000); }), EINVAL);
    EXPECT_EQ(refused([&] { memory.unmap(DmaAddress{0x3000}, 0x1000); }), EINVAL);
    EXPECT_EQ(refused([&] { memory.unmap(DmaAddress{0x1000}, 0x2000); }), EINVAL);
    EXPECT_EQ(refused([&] { memory.unmap(DmaAddress{0x4000}, 0x1000); }), ENOENT);
    EXPECT_EQ(refused([&] { memory.unmap(DmaAddress{0x1000}, 0); }), EINVAL);
    EXPECT_EQ(refused([&] { memory.unmap(DmaAddress{0x1000}, ~std::uint64_t{0}); }), EINVAL);
    EXPECT_EQ(memory.counts().ranges, 3u);
    memory.unmap(DmaAddress{0}, 0x4000);
    EXPECT_EQ(answers(0x1000, 1) + answers(0x2000, 1), 0u);
    EXPECT_EQ(answers(0x5000, 1), 1u);
    memory.unmap_all();
    EXPECT_EQ(answers(0x5000, 1), 0u);
}

TEST_F(GuestMemory, NumberOfRangesIsLimited)
{
    for (std::uint64_t i = 0; i < Memory::most_ranges; ++i)
        map_nothing(i * 0x2000, 0x1000);
    EXPECT_EQ(refused([&] { map_nothing(0x1000, 0x1000); }), ENOSPC);
}

TEST_F(GuestMemory, NobodyUsesARangeAfterItsEnd)
{
    map(0, 0x4000, 0);
    std::atomic<bool> ended = false;
    std::atomic<std::uint64_t> there = 0;
    std::vector<std::thread> users;
    for (std::uint64_t i = 0; i < 3; ++i) {
        users.emplace_back([&, i] {
            std::array<std::byte, 0x800> bytes{};
            const DmaAddress own{0x800 + i * 0x1000};
            while (!ended) {
                if (write(memory, own, bytes) && read(memory, own, bytes))
                    ++there;
            }
        });
    }
    for (int i = 0; i < 300 || there < 100; ++i) {
        memory.exclusively([&] { memory.unmap(DmaAddress{0}, 0x4000); });
        map(0, 0x4000, 0);
        std::this_thread::yield();
    }
    ended = true;
    for (std::thread& user : users)
        user.join();
}

} // namespace
} // namespace mrz::dma
