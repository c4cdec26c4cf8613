// SPDX-License-Identifier: BSD-3-Clause
#include "layouts/field.hpp"

#include <gtest/gtest.h>

#include <array>
#include <vector>

using namespace mrz::layouts;

namespace {

std::vector<std::byte> bytes(std::initializer_list<unsigned> values)
{
    std::vector<std::byte> result;
    for (const unsigned value : values)
        result.push_back(static_cast<std::byte>(value));
    return result;
}

TEST(Field, IsReadFromItsMostSignificantBit)
{
    const auto from = bytes({0x12, 0x34, 0x56, 0x78});
    EXPECT_EQ(get(from, {0, 4}), 0x1U);
    EXPECT_EQ(get(from, {4, 8}), 0x23U);
    EXPECT_EQ(get(from, {0, 32}), 0x12345678U);
    EXPECT_EQ(get(from, {3, 1}), 1U);
    EXPECT_EQ(get(from, {4, 1}), 0U);
}

TEST(Field, OfSixtyFourBitsMayBeginAnywhere)
{
    auto in = bytes({0xff, 0, 0, 0, 0, 0, 0, 0, 0xff});
    set(in, {4, 64}, 0x123456789abcdef0);
    EXPECT_EQ(in, bytes({0xf1, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef, 0x0f}));
    EXPECT_EQ(get(in, {4, 64}), 0x123456789abcdef0U);
}

TEST(Field, SettingLeavesItsNeighboursAndDropsWhatIsTooWide)
{
    for (unsigned offset = 0; offset < 24; ++offset) {
        for (unsigned width = 1; width <= 16; ++width) {
            const Field field{static_cast<std::uint16_t>(offset), static_cast<std::uint16_t>(width)};
            auto in = bytes({0xff, 0xff, 0xff, 0xff, 0xff});
            set(in, field, 0);
            std::uint64_t expected = 0xff'ffff'ffff;
            expected &= ~(((1ULL << width) - 1) << (40 - offset - width));
            EXPECT_EQ(get(in, {0, 40}), expected) << offset << " " << width;
            set(in, field, ~0ULL);
            EXPECT_EQ(get(in, {0, 40}), 0xff'ffff'ffffU) << offset << " " << width;
        }
    }
}

TEST(Field, BeyondTheBytesReadsAsZeroAndIsNotWritten)
{
    auto in = bytes({0xff, 0xff});
    EXPECT_EQ(get(in, {9, 8}), 0U);
    EXPECT_EQ(get(in, {65535, 64}), 0U);
    EXPECT_EQ(get(in, {8, 8}), 0xffU);
    set(in, {9, 8}, 0);
    EXPECT_EQ(in, bytes({0xff, 0xff}));
}

TEST(Field, IsUsableAtCompileTime)
{
    constexpr auto made = [] {
        std::array<std::byte, 4> in{};
        set(in, {5, 20}, 0xabcde);
        return in;
    }();
    static_assert(get(made, {5, 20}) == 0xabcde);
    static_assert(get(made, {0, 5}) == 0);
}

TEST(Block, IsCutWhereTheBytesEnd)
{
    const auto from = bytes({1, 2, 3, 4});
    const std::span<const std::byte> all{from};
    EXPECT_EQ(part(all, Block{1, 2}).size(), 2U);
    EXPECT_EQ(part(all, Block{1, 2})[0], std::byte{2});
    EXPECT_EQ(part(all, Block{1, 0}).size(), 3U);
    EXPECT_EQ(part(all, Block{3, 8}).size(), 1U);
    EXPECT_TRUE(part(all, Block{9, 8}).empty());
    EXPECT_EQ(get(all, inside(Block{2, 2}, Field{0, 8})), 3U);
}

} // namespace
