// SPDX-License-Identifier: BSD-3-Clause
#include "reservation.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <random>
#include <set>

#include <sys/mman.h>

namespace mrz::hugepage {
namespace {

constexpr PageShift two_mib{21};
constexpr std::uintptr_t base = 0x7f0000001000;

TEST(FreeRanges, TakesTheLowestPlaceWhereTheBlockNotItsHeaderIsCongruent)
{
    FreeRanges free;
    free.put(base, 1_GiB);
    const auto begin = free.take(2_MiB, 8_MiB, PageShift{23}, 0x600000);
    ASSERT_TRUE(begin);
    EXPECT_EQ((*begin + 2_MiB) % 8_MiB, 0x600000U);
    EXPECT_GE(*begin, base);
    EXPECT_LT(*begin, base + 8_MiB);
}

TEST(FreeRanges, GivesNothingWhereAlignmentLeavesNoRoom)
{
    FreeRanges free;
    free.put(base, 4_MiB); // misaligned by 4 KiB: one aligned 2-MiB page, not two
    EXPECT_FALSE(free.take(0, 4_MiB, two_mib, 0));
    EXPECT_TRUE(free.take(0, 2_MiB, two_mib, 0));
    EXPECT_FALSE(free.take(0, 2_MiB, two_mib, 0));
}

TEST(FreeRanges, SizesThatPassTheAddressSpaceAreNoRoomRatherThanAWrap)
{
    FreeRanges free;
    free.put(base, 1_GiB);
    EXPECT_FALSE(free.take(2_MiB, ~std::size_t{0} - 4_KiB, two_mib, 0));
    EXPECT_FALSE(free.take(~std::size_t{0}, 2_MiB, two_mib, 0));
    EXPECT_FALSE(free.take_at(base + 4_KiB, ~std::size_t{0}));
    EXPECT_EQ(free.largest(), 1_GiB);
}

TEST(FreeRanges, WhatComesBackMergesWithBothNeighbours)
{
    FreeRanges free;
    free.put(base, 16_MiB);
    ASSERT_TRUE(free.take_at(base, 4_MiB));
    ASSERT_TRUE(free.take_at(base + 8_MiB, 4_MiB));
    ASSERT_TRUE(free.take_at(base + 4_MiB, 4_MiB));
    EXPECT_EQ(free.largest(), 4_MiB);
    free.put(base, 4_MiB);
    free.put(base + 8_MiB, 4_MiB);
    EXPECT_EQ(free.largest(), 8_MiB);
    free.put(base + 4_MiB, 4_MiB);
    EXPECT_EQ(free.largest(), 16_MiB);
}

TEST(FreeRanges, AnExactPlaceIsRefusedIfAnyPartIsTaken)
{
    FreeRanges free;
    free.put(base, 16_MiB);
    ASSERT_TRUE(free.take_at(base + 4_MiB, 4_MiB));
    EXPECT_FALSE(free.take_at(base + 6_MiB, 4_MiB));
    EXPECT_FALSE(free.take_at(base + 2_MiB, 4_MiB));
    EXPECT_FALSE(free.take_at(base + 14_MiB, 4_MiB));
    EXPECT_FALSE(free.take_at(base - 4_KiB, 4_KiB));
    EXPECT_TRUE(free.take_at(base + 8_MiB, 8_MiB));
}

TEST(FreeRanges, NeverGivesTwiceWhatIsHeldAndLosesNothing)
{
    constexpr std::size_t pages = 64;
    std::mt19937 random{7};
    FreeRanges free;
    free.put(0x40000000, pages * 2_MiB);
    std::set<std::uintptr_t> held; // pages
    std::vector<std::pair<std::uintptr_t, std::size_t>> pieces;
    for (int step = 0; step < 20000; ++step) {
        if (random() % 2 == 0) {
            const std::size_t length = (1 + random() % 6) * 2_MiB;
            const PageShift modulus{21 + static_cast<unsigned>(random() % 4)};
            const std::uint64_t residue = (random() * 2_MiB) & (modulus.bytes() - 1);
            const auto begin = free.take(2_MiB, length, modulus, residue);
            if (!begin)
                continue;
            ASSERT_EQ((*begin + 2_MiB) & (modulus.bytes() - 1), residue);
            for (std::size_t at = 0; at < length + 2_MiB; at += 2_MiB)
                ASSERT_TRUE(held.insert(*begin + at).second);
            pieces.emplace_back(*begin, length + 2_MiB);
        } else if (!pieces.empty()) {
            std::swap(pieces[random() % pieces.size()], pieces.back());
            const auto [begin, length] = pieces.back();
            pieces.pop_back();
            for (std::size_t at = 0; at < length; at += 2_MiB)
                held.erase(begin + at);
            free.put(begin, length);
        }
    }
    for (const auto& [begin, length] : pieces)
        free.put(begin, length);
    EXPECT_EQ(free.largest(), pages * 2_MiB);
}

TEST(AddressRange, LiesWhereAskedAndCanBeHadAgainWhenGone)
{
    std::uintptr_t first = 0;
    {
        const AddressRange range = AddressRange::congruent(2_MiB, 64_MiB, PageShift{26}, 0x1200000);
        first = range.begin();
        EXPECT_EQ((range.begin() + 2_MiB) % 64_MiB, 0x1200000U);
        EXPECT_EQ(range.length(), 66_MiB);
        const AddressRange other = AddressRange::congruent(2_MiB, 64_MiB, PageShift{26}, 0x1200000);
        EXPECT_GE(other.begin(), range.begin() + range.length());
    }
    EXPECT_EQ(AddressRange::congruent(2_MiB, 64_MiB, PageShift{26}, 0x1200000).begin(), first);
}

TEST(AddressRange, AnExactPlaceInsideTheReservationIsClaimedAndOneThatIsHeldIsBusy)
{
    AddressRange range = AddressRange::congruent(0, 8_MiB, two_mib, 0);
    const std::uintptr_t begin = range.begin();
    try {
        AddressRange::at(begin + 4_MiB, 8_MiB);
        FAIL() << "no error";
    } catch (const Error& error) {
        EXPECT_EQ(error.error_number(), EEXIST);
        EXPECT_EQ(error.cause().trouble, Trouble::busy);
    }
    range = {};
    EXPECT_EQ(AddressRange::at(begin, 8_MiB).begin(), begin);
}

TEST(AddressRange, OutsideTheReservationItIsUnmappedWhenGone)
{
    // A place that is free now: mapped and unmapped.
    void* const place = mmap(nullptr, 8_MiB, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(place, MAP_FAILED);
    ASSERT_EQ(munmap(place, 8_MiB), 0);
    const auto begin = reinterpret_cast<std::uintptr_t>(place);
    {
        const AddressRange range = AddressRange::at(begin, 8_MiB);
        EXPECT_EQ(range.begin(), begin);
        EXPECT_THROW(AddressRange::at(begin + 4_MiB, 4_MiB), Error);
    }
    void* const again = mmap(place, 8_MiB, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    EXPECT_EQ(again, place);
    munmap(again, 8_MiB);
}

TEST(AddressRange, MoreThanThereIsIsRefusedWithWhatThereIs)
{
    try {
        AddressRange::congruent(2_MiB, 5_TiB, two_mib, 0);
        FAIL() << "no error";
    } catch (const Error& error) {
        EXPECT_EQ(error.error_number(), ENOMEM);
        EXPECT_EQ(error.cause().trouble, Trouble::invalid);
        EXPECT_GT(error.cause().present.value_or(0), 0U);
        EXPECT_GT(error.cause().need.value_or(0), error.cause().present.value_or(0));
    }
}

} // namespace
} // namespace mrz::hugepage
