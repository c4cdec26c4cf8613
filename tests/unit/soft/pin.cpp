// SPDX-License-Identifier: BSD-3-Clause
#include "pin.hpp"

#include <mrzone/host.hpp>

#include "support/require.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include <sys/mman.h>
#include <unistd.h>

namespace mrz::soft {
namespace {

std::uint64_t pinned_now()
{
    return host::locked_memory().pinned.value_or(0);
}

class SoftPin : public testing::Test {
  protected:
    static constexpr std::size_t length = 64_KiB;
    void SetUp() override
    {
        void* const mapped = mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        ASSERT_NE(mapped, MAP_FAILED);
        memory = {static_cast<std::byte*>(mapped), length};
        ASSERT_EQ(madvise(mapped, length, MADV_NOHUGEPAGE), 0);
        MRZ_REQUIRE(pinner.holds_frames(), "io_uring is not permitted here");
    }
    void TearDown() override { munmap(memory.data(), length); }

    Pinner pinner;
    std::span<std::byte> memory;
};

TEST_F(SoftPin, CountsAsPinnedInWholePagesForAsLongAsItLives)
{
    const std::uint64_t before = pinned_now();
    {
        Pin pin = pinner.pin(memory.subspan(4095, 2));
        EXPECT_EQ(pin.bytes(), 8_KiB);
        EXPECT_EQ(pinned_now(), before + 8_KiB);
        const Pin moved = std::move(pin);
        EXPECT_EQ(moved.bytes(), 8_KiB);
        const Pin again = pinner.pin(memory);
        EXPECT_EQ(pinned_now(), before + 8_KiB + length);
    }
    EXPECT_EQ(pinned_now(), before);
}

TEST_F(SoftPin, TakesMorePiecesThanOneRingHolds)
{
    const host::LockedMemory locked = host::locked_memory();
    MRZ_REQUIRE(locked.exempt || locked.soft.value().value_or(~std::uint64_t{0}) >= 128_MiB,
                "needs to pin 64 MiB, more than this user may");
    const std::uint64_t before = pinned_now();
    std::vector<Pin> pins;
    for (unsigned i = 0; i < PinRing::buffers + 10; ++i)
        pins.push_back(pinner.pin(memory.subspan(i % 16 * 4096, 1)));
    EXPECT_EQ(pinned_now(), before + pins.size() * 4096);
    pins.clear();
    EXPECT_EQ(pinned_now(), before);
}

TEST_F(SoftPin, LeavesNothingPinnedWhenItFailsHalfWay)
{
    const std::uint64_t before = pinned_now();
    ASSERT_EQ(mprotect(memory.data() + 8_KiB, 4_KiB, PROT_READ), 0);
    EXPECT_THROW(static_cast<void>(pinner.pin(memory)), Error);
    EXPECT_EQ(pinned_now(), before);
    ASSERT_EQ(mprotect(memory.data() + 8_KiB, 4_KiB, PROT_READ | PROT_WRITE), 0);
    EXPECT_NO_THROW(static_cast<void>(pinner.pin(memory)));
}

} // namespace
} // namespace mrz::soft
