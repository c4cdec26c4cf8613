// SPDX-License-Identifier: BSD-3-Clause
#include "pattern.hpp"

#include "refused.hpp"
#include "slots.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <set>
#include <string>
#include <vector>

namespace mrz::perf {
namespace {

using test::trouble_of;
using namespace mrz::literals;

TEST(PerfPattern, IsFoundWhereItWasPutAndNowhereElse)
{
    std::vector<std::byte> bytes(4099);
    const Pattern pattern = Pattern::brought(7, false, 3);
    pattern.fill(bytes, 64);
    EXPECT_NO_THROW(pattern.check(bytes, 64, "here"));
    EXPECT_EQ(trouble_of([&] { pattern.check(bytes, 72, "here"); }), Trouble::data);
    const Pattern others[] = {Pattern::brought(8, false, 3), Pattern::brought(7, true, 3),
                              Pattern::brought(7, false, 4), Pattern::before(7, false, 3)};
    for (const Pattern& other : others)
        EXPECT_EQ(trouble_of([&] { other.check(bytes, 64, "here"); }), Trouble::data);
}

TEST(PerfPattern, SaysWhichByteIsWrong)
{
    for (const std::size_t wrong : {std::size_t{0}, std::size_t{13}, std::size_t{4098}}) {
        std::vector<std::byte> bytes(4099);
        const Pattern pattern = Pattern::brought(7, false, 3);
        pattern.fill(bytes, 64);
        bytes[wrong] ^= std::byte{0x10};
        try {
            pattern.check(bytes, 64, "that were sent");
            ADD_FAILURE() << "not seen";
        } catch (const Error& error) {
            EXPECT_THAT(error.what(), testing::HasSubstr("at " + std::to_string(64 + wrong) + ','));
            EXPECT_THAT(error.what(), testing::HasSubstr("that were sent"));
        }
    }
}

TEST(PerfSlots, GoRoundWithoutOverlapping)
{
    const Slots slots{64_KiB, 100, Order::sequential, 0};
    EXPECT_EQ(slots.stride(), 128U);
    EXPECT_EQ(slots.count(), 512U);
    for (std::uint64_t n = 0; n < 2000; ++n) {
        EXPECT_EQ(slots.of(n), n % 512);
        EXPECT_LE(slots.offset(n) + slots.size(), 64_KiB);
    }
}

TEST(PerfSlots, ThatAreHotAreUsedFourTimesOfFive)
{
    const Slots slots{64_KiB, 64, Order::hot, 99};
    std::size_t hot = 0;
    std::set<std::size_t> used;
    constexpr std::size_t operations = 100'000;
    for (std::uint64_t n = 0; n < operations; ++n) {
        const std::size_t slot = slots.of(n);
        ASSERT_LT(slot, slots.count());
        EXPECT_EQ(slots.of(n), slot);
        hot += slot < slots.count() / 5 ? 1 : 0;
        used.insert(slot);
    }
    EXPECT_NEAR(static_cast<double>(hot) / operations, 0.8, 0.01);
    EXPECT_EQ(used.size(), slots.count());
}

TEST(PerfSlots, ThatAreTooFewToBeHotGoRound)
{
    const Slots slots{4 * 64, 64, Order::hot, 99};
    for (std::uint64_t n = 0; n < 20; ++n)
        EXPECT_EQ(slots.of(n), n % 4);
}

} // namespace
} // namespace mrz::perf
