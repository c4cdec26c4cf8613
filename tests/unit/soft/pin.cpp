// SPDX-License-Identifier: BSD-3-Clause
#include "pin.hpp"

#include <mrzone/host.hpp>

#include "support/in_child.hpp"
#include "support/lowered.hpp"
#include "support/require.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <functional>
#include <random>
#include <utility>

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

// The sanitizers' own munlock does nothing; they look for other faults.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool munlock_works = false;
#else
constexpr bool munlock_works = true;
#endif

// Where the next lock begins where one ends, and any lock at all ends meanwhile.
TEST(SoftLock, HoldsExactlyThePagesOfTheLocksThatLive)
{
    test::in_child([] {
        constexpr std::size_t pages = 12;
        test::forbid_io_uring(EPERM);
        void* const mapped = mmap(nullptr, pages * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        ASSERT_NE(mapped, MAP_FAILED);
        const std::span<std::byte> memory{static_cast<std::byte*>(mapped), pages * 4096};
        const std::uint64_t before = host::locked_memory().locked.value_or(0);
        std::array<unsigned, pages> holders{};
        const auto hold = [&](std::size_t first, std::size_t count, unsigned change) {
            for (std::size_t page = first; page < first + count; ++page)
                holders[page] += change;
        };
        struct Lock {
            std::size_t first;
            std::size_t count;
            Pin pin;
        };
        Pinner pinner;
        ASSERT_FALSE(pinner.holds_frames());
        std::vector<Lock> locks;
        std::mt19937 random;
        for (int i = 0; i < 1000; ++i) {
            if (locks.empty() || (locks.size() < 8 && random() % 2 == 0)) {
                const std::size_t first = random() % pages;
                const std::size_t count = 1 + random() % (pages - first);
                locks.push_back({first, count, pinner.pin(memory.subspan(first * 4096, count * 4096))});
                hold(first, count, 1);
            } else {
                std::swap(locks[random() % locks.size()], locks.back());
                hold(locks.back().first, locks.back().count, -1U);
                locks.pop_back();
            }
            const auto held = static_cast<std::uint64_t>(std::ranges::count_if(holders, std::identity{}));
            if (munlock_works) {
                ASSERT_EQ(host::locked_memory().locked.value_or(0), before + held * 4096) << "step " << i;
            }
        }
    });
}

} // namespace
} // namespace mrz::soft
