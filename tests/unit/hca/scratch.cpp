// SPDX-License-Identifier: BSD-3-Clause
#include <hca/scratch.hpp>

#include "memory.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

using namespace mrz;
using namespace mrz::hca;

TEST(Scratch, ResolvingAsksTheBusAgainWhereItAnswersShort)
{
    MadeUpMemory memory;
    memory.add(0x1000, 0x1000);
    memory.answer_at_most(100);
    std::vector<Piece> pieces;
    const std::array segments = {DmaSegment{DmaAddress{0x1010}, 250}, DmaSegment{{}, 7, true}};
    ASSERT_TRUE(resolve(memory, segments, Direction::write, pieces));
    ASSERT_EQ(pieces.size(), 4u);
    EXPECT_EQ(pieces[2].length, 50u);
    EXPECT_EQ(pieces[2].data, &memory.at(DmaAddress{0x1010 + 200}));
    EXPECT_EQ(pieces[3].data, nullptr);
    EXPECT_EQ(pieces[3].length, 7u);
}

TEST(Scratch, ResolvingFailsWhereNoMemoryAnswers)
{
    MadeUpMemory memory;
    memory.add(0x1000, 0x1000);
    std::vector<Piece> pieces;
    EXPECT_FALSE(resolve(memory, std::array{DmaSegment{DmaAddress{0x1fff}, 2}}, Direction::read, pieces));
    EXPECT_FALSE(resolve(memory, std::array{DmaSegment{DmaAddress{0xfff}, 1}}, Direction::read, pieces));
    memory.make_read_only(0x1000);
    EXPECT_FALSE(resolve(memory, std::array{DmaSegment{DmaAddress{0x1000}, 1}}, Direction::write, pieces));
    EXPECT_TRUE(resolve(memory, std::array{DmaSegment{DmaAddress{0x1000}, 1}}, Direction::read, pieces));
}

TEST(Scratch, CopyingFollowsPiecesOnBothSides)
{
    std::array<std::byte, 16> from{};
    std::array<std::byte, 16> to{};
    for (std::size_t i = 0; i < from.size(); ++i)
        from[i] = static_cast<std::byte>(i + 1);
    to.fill(std::byte{0xee});
    // 5 bytes, 3 zeros, 4 bytes into 2, 7, a void of 2, 1.
    copy(std::array{Piece{&to[8], 2}, Piece{to.data(), 7}, Piece{nullptr, 2}, Piece{&to[15], 1}},
         std::array{Piece{from.data(), 5}, Piece{nullptr, 3}, Piece{&from[8], 4}});
    const std::array<int, 16> expected = {3, 4, 5, 0, 0, 0, 9, 0xee, 1, 2, 0xee, 0xee, 0xee, 0xee, 0xee, 12};
    for (std::size_t i = 0; i < to.size(); ++i)
        EXPECT_EQ(std::to_integer<int>(to[i]), expected[i]) << i;
}

TEST(Scratch, CopyingStopsAtTheShorterSide)
{
    std::array<std::byte, 4> bytes = {std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}};
    copy(std::array{Piece{&bytes[2], 1}}, std::array{Piece{bytes.data(), 2}});
    EXPECT_EQ(bytes[2], std::byte{1});
    EXPECT_EQ(bytes[3], std::byte{4});
    copy({}, std::array{Piece{bytes.data(), 2}});
    copy(std::array{Piece{bytes.data(), 2}}, {});
    EXPECT_EQ(bytes[0], std::byte{1});
}
