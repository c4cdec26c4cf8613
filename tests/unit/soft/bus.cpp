// SPDX-License-Identifier: BSD-3-Clause
#include "bus.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <utility>
#include <vector>

namespace mrz::soft {
namespace {

// Only addresses are compared: the bus never looks into memory.
std::byte* bytes_at(std::uint64_t address)
{
    return reinterpret_cast<std::byte*>(address);
}

class SoftBus : public testing::Test {
  protected:
    std::byte* at(std::uint64_t dma)
    {
        const std::span<std::byte> found = bus.memory(DmaAddress{dma}, 1, hca::Direction::read);
        return found.empty() ? nullptr : found.data();
    }
    void add(std::uint64_t dma, std::uint64_t virt, std::uint64_t length)
    {
        bus.add(DmaAddress{dma}, bytes_at(virt), length);
    }
    void remove(std::uint64_t dma, std::uint64_t virt, std::uint64_t length)
    {
        bus.remove(DmaAddress{dma}, bytes_at(virt), length);
    }
    ProcessBus bus;
};

TEST_F(SoftBus, AnswersExactlyWhereMemoryWasAdded)
{
    add(0x1234'5000, 0x7000'0000'0000, 3 * 4096);
    EXPECT_EQ(at(0x1234'4fff), nullptr);
    EXPECT_EQ(at(0x1234'5000), bytes_at(0x7000'0000'0000));
    EXPECT_EQ(at(0x1234'7fff), bytes_at(0x7000'0000'2fff));
    EXPECT_EQ(at(0x1234'8000), nullptr);
    remove(0x1234'5000, 0x7000'0000'0000, 3 * 4096);
    EXPECT_EQ(at(0x1234'5000), nullptr);
    EXPECT_TRUE(bus.empty());
}

TEST_F(SoftBus, AnswersWithNoMoreThanWasAskedForNorThanLiesInOneBlock)
{
    add(1_GiB, 0x7000'0000'0000, 1_GiB + 2_MiB + 4_KiB);
    const auto length = [this](std::uint64_t dma, std::uint64_t wanted) {
        return bus.memory(DmaAddress{dma}, wanted, hca::Direction::write).size();
    };
    EXPECT_EQ(length(1_GiB, ~std::uint64_t{0}), 1_GiB);
    EXPECT_EQ(length(1_GiB + 5, 7), 7u);
    EXPECT_EQ(length(2_GiB - 3, 100), 3u);
    EXPECT_EQ(length(2_GiB, 4_MiB), 2_MiB);
    EXPECT_EQ(length(2_GiB + 2_MiB + 1, 4_MiB), 4_KiB - 1);
    EXPECT_EQ(length(2_GiB + 2_MiB + 4_KiB, 1), 0u);
}

TEST_F(SoftBus, AnswersUntilMemoryIsRemovedAsOftenAsItWasAdded)
{
    add(2_MiB, 0x10'0000'0000, 2_MiB);
    add(2_MiB, 0x10'0000'0000, 2_MiB);
    remove(2_MiB, 0x10'0000'0000, 2_MiB);
    EXPECT_EQ(at(2_MiB + 9), bytes_at(0x10'0000'0009));
    remove(2_MiB, 0x10'0000'0000, 2_MiB);
    EXPECT_EQ(at(2_MiB), nullptr);
    EXPECT_TRUE(bus.empty());
}

TEST_F(SoftBus, AnswersFromAnotherMappingWhenTheFirstOneIsGone)
{
    add(0x5000, 0x10'0000'0000, 4096);
    add(0x5000, 0x20'0000'0000, 4096);
    add(0x5000, 0x30'0000'0000, 4096);
    remove(0x5000, 0x10'0000'0000, 4096);
    EXPECT_TRUE(at(0x5000) == bytes_at(0x20'0000'0000) || at(0x5000) == bytes_at(0x30'0000'0000));
    remove(0x5000, 0x30'0000'0000, 4096);
    EXPECT_EQ(at(0x5000), bytes_at(0x20'0000'0000));
    remove(0x5000, 0x20'0000'0000, 4096);
    EXPECT_TRUE(bus.empty());
}

TEST_F(SoftBus, KeepsAPartWhenTheWholeAroundItIsRemoved)
{
    add(2_MiB, 0x10'0000'0000, 2_MiB);
    add(2_MiB + 4096, 0x10'0000'1000, 4096);
    remove(2_MiB, 0x10'0000'0000, 2_MiB);
    EXPECT_EQ(at(2_MiB), nullptr);
    EXPECT_EQ(at(2_MiB + 4096), bytes_at(0x10'0000'1000));
    remove(2_MiB + 4096, 0x10'0000'1000, 4096);
    EXPECT_TRUE(bus.empty());
}

TEST_F(SoftBus, AgreesWhereNothingElseAnswersNowNorLater)
{
    const auto agrees = [this](std::uint64_t dma, std::uint64_t virt, std::uint64_t length) {
        return bus.agrees(DmaAddress{dma}, bytes_at(virt), length);
    };
    EXPECT_TRUE(agrees(0, 0x1000, 1_GiB));
    add(2_MiB, 0x10'0000'0000, 2_MiB);
    EXPECT_TRUE(agrees(2_MiB + 4096, 0x10'0000'1000, 4096)) << "a part of it";
    EXPECT_FALSE(agrees(2_MiB + 4096, 0x10'0000'2000, 4096));
    EXPECT_TRUE(agrees(2_MiB - 4096, 0x20'0000'0000, 4096)) << "before it";
    EXPECT_TRUE(agrees(4_MiB, 0x20'0000'0000, 4096)) << "behind it";
    EXPECT_TRUE(agrees(0, 0x10'0000'0000 - 2_MiB, 1_GiB)) << "around it";
    EXPECT_FALSE(agrees(0, 0x10'0000'0000, 1_GiB));
    add(2_MiB + 4096, 0x30'0000'0000, 4096); // answers when the whole is gone
    EXPECT_FALSE(agrees(2_MiB, 0x10'0000'0000, 2_MiB));
    EXPECT_TRUE(agrees(2_MiB + 8192, 0x10'0000'2000, 4096));
    add(2_MiB, 0x40'0000'0000, 2_MiB);
    EXPECT_FALSE(agrees(2_MiB + 8192, 0x10'0000'2000, 4096)) << "of the two one may go";
}

TEST_F(SoftBus, RefusesAddressesBeyondItsBitsAndKeepsNothing)
{
    EXPECT_EQ(at(~std::uint64_t{0}), nullptr);
    EXPECT_EQ(at(std::uint64_t{1} << 57), nullptr);
    EXPECT_THROW(add((std::uint64_t{1} << 57) - 4096, 0x1000, 8192), Error);
    EXPECT_THROW(add(~std::uint64_t{0} << 12, 0x1000, 4096), Error);
    EXPECT_TRUE(bus.empty());
    add((std::uint64_t{1} << 57) - 4096, 0x1000, 4096);
    EXPECT_EQ(at((std::uint64_t{1} << 57) - 1), bytes_at(0x1fff));
}

TEST_F(SoftBus, EqualsAPlainListOfRangesUnderRandomAdditionsAndRemovals)
{
    struct Range {
        std::uint64_t dma, virt, length;
    };
    std::vector<Range> ranges;
    std::mt19937_64 random{7};
    // Around a break between two gigabytes, so that blocks of all sizes are met.
    constexpr std::uint64_t from = 3_GiB;
    constexpr std::uint64_t slack = 4_MiB;
    for (int step = 0; step < 2000; ++step) {
        if (ranges.size() < 12 && random() % 2 == 0) {
            const std::uint64_t unit = random() % 2 == 0 ? 4_KiB : 2_MiB;
            const std::uint64_t dma = (from - slack + random() % (2 * slack)) / unit * unit;
            const std::uint64_t length = (1 + random() % 3) * unit;
            // A frame may be mapped in two places, at the same distance throughout.
            const std::uint64_t virt = dma + (random() % 2 == 0 ? 0x7000'0000'0000 : 0x6000'0000'0000);
            add(dma, virt, length);
            ranges.push_back({dma, virt, length});
        } else if (!ranges.empty()) {
            const auto victim = ranges.begin() + static_cast<std::ptrdiff_t>(random() % ranges.size());
            remove(victim->dma, victim->virt, victim->length);
            ranges.erase(victim);
        }
        for (int probe = 0; probe < 20; ++probe) {
            const std::uint64_t dma = from - slack - 8_MiB + random() % (2 * slack + 16_MiB);
            const std::byte* const found = at(dma);
            bool covered = false;
            bool known = found == nullptr;
            for (const Range& range : ranges) {
                if (dma < range.dma || dma - range.dma >= range.length)
                    continue;
                covered = true;
                known = known || found == bytes_at(range.virt + (dma - range.dma));
            }
            ASSERT_EQ(found != nullptr, covered) << step << " " << dma;
            ASSERT_TRUE(known) << step << " " << dma;
        }
    }
    for (const Range& range : ranges)
        remove(range.dma, range.virt, range.length);
    EXPECT_TRUE(bus.empty());
}

} // namespace
} // namespace mrz::soft
