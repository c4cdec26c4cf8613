// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! fork() while a lease is held, without anything done about it: the pinned page stays the parent's, whoever writes
//! first.
#include "carrier.hpp"

#include <mrzone/cache.hpp>
#include <mrzone/frames.hpp>

#include "support/in_child.hpp"
#include "support/mapping.hpp"
#include "support/pool_guard.hpp"
#include "support/require.hpp"
#include "support/userfault.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

namespace mrz::test {
namespace {

using namespace mrz::literals;

class ForkWhileLeased : public testing::Test {
  protected:
    void SetUp() override
    {
        MRZ_REQUIRE(*Carrier::device() != 0, "io_uring is not allowed");
        MRZ_REQUIRE(may_watch(), "userfaultfd(2) is not allowed");
        MRZ_REQUIRE(::geteuid() == 0, "frames are shown to root");
    }
    static bool all_are(std::span<const std::byte> memory, std::byte value)
    {
        return std::ranges::all_of(memory, [&](std::byte byte) { return byte == value; });
    }
    static DmaAddress frame(std::span<const std::byte> memory)
    {
        return read_frames(memory.data(), 4096, PageShift{12}).addresses.front();
    }
    //! Waits until the other end is closed.
    static void wait_for_end(int pipe)
    {
        char end = 0;
        EXPECT_EQ(::read(pipe, &end, 1), 0);
    }

    void expect_parents_page_to_stay(std::span<std::byte> memory, bool parent_first)
    {
        const Domain domain = Domain::open(Carrier::device());
        Carrier carrier{domain};
        Cache cache{domain, {.watch = Watch::userfaultfd}};
        std::ranges::fill(memory, std::byte{1});
        const Lease lease = cache.lease(memory);
        const DmaAddress before = frame(memory);
        ASSERT_NE(before, DmaAddress{0});
        std::array<int, 2> go{};
        std::array<int, 2> done{};
        ASSERT_EQ(::pipe2(go.data(), O_CLOEXEC), 0);
        ASSERT_EQ(::pipe2(done.data(), O_CLOEXEC), 0);
        const pid_t child = start_child([&] {
            ::close(go[1]);
            ::close(done[0]);
            if (parent_first)
                wait_for_end(go[0]);
            EXPECT_TRUE(all_are(memory, std::byte{1})) << "what it was at the fork";
            std::ranges::fill(memory, std::byte{2});
            EXPECT_NE(frame(memory), before);
            ::close(done[1]);
            wait_for_end(go[0]);
            EXPECT_TRUE(all_are(memory, std::byte{2})) << "what its parent and the device wrote is not here";
        });
        ::close(go[0]);
        ::close(done[1]);
        const auto check = [&] {
            EXPECT_EQ(frame(memory), before);
            std::ranges::fill(memory, std::byte{3});
            EXPECT_EQ(frame(memory), before);
            std::vector<std::byte> outside(memory.size());
            EXPECT_TRUE(carrier.carry(Way::out_of_memory, lease.lkey(), memory, outside));
            EXPECT_TRUE(all_are(outside, std::byte{3})) << "the device reads something else than the parent wrote";
            std::ranges::fill(outside, std::byte{4});
            EXPECT_TRUE(carrier.carry(Way::into_memory, lease.lkey(), memory, outside));
            EXPECT_TRUE(all_are(memory, std::byte{4})) << "the parent reads something else than the device wrote";
        };
        if (parent_first) {
            check();
            ::close(go[1]);
            wait_for_end(done[0]);
        } else {
            wait_for_end(done[0]);
            check();
            ::close(go[1]);
        }
        expect_success(child);
        EXPECT_TRUE(all_are(memory, std::byte{4}));
        EXPECT_EQ(cache.lease(memory).lkey(), lease.lkey()) << "nothing of the parent's was forgotten";
        ::close(done[0]);
    }
};

TEST_F(ForkWhileLeased, LeavesASmallPageToTheParent)
{
    for (const bool parent_first : {true, false}) {
        const Mapping memory{8_KiB};
        expect_parents_page_to_stay(memory.bytes(), parent_first);
    }
}

TEST_F(ForkWhileLeased, LeavesAHugepageToTheParent)
{
    const PoolGuard pool{2_MiB, 4};
    for (const bool parent_first : {true, false}) {
        const Mapping memory{2_MiB, MAP_HUGETLB};
        expect_parents_page_to_stay(memory.bytes(), parent_first);
    }
}

} // namespace
} // namespace mrz::test
