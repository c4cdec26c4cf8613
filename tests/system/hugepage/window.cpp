// SPDX-License-Identifier: BSD-3-Clause
#include <mrzone/hugepage.hpp>

#include "support/footprint.hpp"
#include "support/in_child.hpp"
#include "support/pool_guard.hpp"
#include "support/require.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>
#include <vector>

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

namespace mrz::test {
namespace {

using testing::Each;

class Windows : public testing::Test {
  protected:
    void SetUp() override { MRZ_REQUIRE(geteuid() == 0, "needs root, to change a pool and to read frames"); }
};

std::uint64_t entries(const Window& window, const Limits& limits)
{
    return window.plan(limits).mtt_entries();
}

std::size_t mappings_of_hugepages()
{
    return Footprint::now().hugepage_mappings;
}

TEST_F(Windows, OneGigabyteIsAsFewEntriesAsThePoolAllows)
{
    constexpr std::uint64_t pages = 1100;
    const PoolGuard guard{2_MiB, pages};
    scramble_pool(2_MiB);
    const WindowOptions options{.size = 1_GiB, .slack_percent = 200};
    std::uint64_t best = 0;
    {
        const TakenPages all{2_MiB, pages};
        best = place(all.frames(), PageShift{21}, 512, options.limits).entries;
    }
    scramble_pool(2_MiB);
    const Window window = Window::build(options);
    EXPECT_EQ(entries(window, options.limits), best);
    ASSERT_TRUE(window.frames_known());
    EXPECT_EQ(window.frames().size(), 513U);
    EXPECT_EQ(window.block().size(), 1_GiB);
    EXPECT_EQ(window.block().data() - window.address(), static_cast<std::ptrdiff_t>(Window::header_size));
    EXPECT_EQ(guard.free(), pages - 513) << "what was looked at and not used is back";
    RecordProperty("entries", static_cast<int>(best));
}

TEST_F(Windows, AWholePoolMakesAGigabyteOneEntry)
{
    const PoolGuard guard{2_MiB, 1};
    MRZ_REQUIRE(add_a_whole_gigabyte(), "the kernel gives no page of 1 GiB, or does not demote it");
    scramble_pool(2_MiB);
    const Window window = Window::build({.size = 1_GiB});
    EXPECT_EQ(entries(window, WindowOptions{}.limits), 1U);
    EXPECT_EQ(entries(window, {.rule = PageSizeRule::umem}), 1U);
    EXPECT_EQ(window.layout().extents().size(), 1U);
    EXPECT_LE(window.map().pieces.size(), 513U);
    EXPECT_EQ(guard.free(), 0U);
}

TEST_F(Windows, AreZeroAndWritableOverTheirWholeLength)
{
    const PoolGuard guard{2_MiB, 33};
    for (int round = 0; round < 2; ++round) { // the second time the pages hold what the first wrote
        const Window window = Window::build({.size = 64_MiB});
        const std::span<std::byte> all{window.address(), window.length()};
        EXPECT_TRUE(std::all_of(all.begin(), all.end(), [](std::byte b) { return b == std::byte{0}; })) << round;
        // Each page gets a mark of its own, so that two pages mapped to one frame would show.
        for (std::size_t page = 0; page < 33; ++page)
            std::fill_n(all.begin() + static_cast<std::ptrdiff_t>(page * 2_MiB), 2_MiB, std::byte(page + 1));
        for (std::size_t page = 0; page < 33; ++page) {
            EXPECT_EQ(all[page * 2_MiB], std::byte(page + 1));
            EXPECT_EQ(all[(page + 1) * 2_MiB - 1], std::byte(page + 1));
        }
    }
}

TEST_F(Windows, FaultNothingWhenTheyAreTouched)
{
    const PoolGuard guard{2_MiB, 33};
    const Window window = Window::build({.size = 64_MiB});
    rusage before{};
    rusage after{};
    getrusage(RUSAGE_SELF, &before);
    for (std::size_t page = 0; page < 33; ++page)
        static_cast<volatile std::byte*>(window.address())[page * 2_MiB] = std::byte{1};
    getrusage(RUSAGE_SELF, &after);
    EXPECT_LT(after.ru_minflt - before.ru_minflt, 5);
}

TEST_F(Windows, SayTheFramesThatTheirPagesHave)
{
    const PoolGuard guard{2_MiB, 80};
    scramble_pool(2_MiB);
    const Window window = Window::build({.size = 64_MiB});
    const Frames frames = read_frames(window.address(), window.length(), PageShift{21});
    EXPECT_TRUE(
        std::equal(frames.addresses.begin(), frames.addresses.end(), window.frames().begin(), window.frames().end()));
    EXPECT_EQ(window.layout().length(), 64_MiB);
}

TEST_F(Windows, SayWhereTheirPagesLieNowWhenTheyLookAgain)
{
    const PoolGuard guard{2_MiB, 10};
    Window window = Window::build({.size = 16_MiB, .slack_percent = 0});
    const std::vector<DmaAddress> before{window.frames().begin(), window.frames().end()};
    std::byte* const block = window.address() + Window::header_size;
    // Two pages that are freed and touched anew in the same order have changed places: the last freed comes first.
    ASSERT_EQ(::madvise(block, 2_MiB, MADV_REMOVE), 0);
    ASSERT_EQ(::madvise(block + 2_MiB, 2_MiB, MADV_REMOVE), 0);
    block[0] = std::byte{1};
    block[2_MiB] = std::byte{1};
    const Frames now = read_frames(window.address(), window.length(), PageShift{21});
    ASSERT_NE(now.addresses, before) << "the pages have not moved, so that there is nothing to see";
    EXPECT_TRUE(std::ranges::equal(window.frames(), before));
    window.look_again();
    EXPECT_TRUE(std::ranges::equal(window.frames(), now.addresses));
    const Layout layout = Layout::of_pages(std::span{now.addresses}.subspan(1), PageShift{21});
    EXPECT_TRUE(std::ranges::equal(window.layout().extents(), layout.extents()));
}

TEST_F(Windows, LeaveNothingBehindAndThePoolsFreeListSorted)
{
    const PoolGuard guard{2_MiB, 128};
    {
        const Window first = Window::build({.size = 2_MiB});
    } // the reservation, which stays
    scramble_pool(2_MiB);
    const Footprint before = Footprint::now();
    {
        const Window window = Window::build({.size = 126_MiB});
        EXPECT_EQ(guard.free(), 64U);
        EXPECT_GT(mappings_of_hugepages(), 0U);
    }
    EXPECT_EQ(Footprint::now(), before);
    // What the window held comes first now, in ascending order.
    const std::vector<DmaAddress> next = TakenPages{2_MiB, 64}.frames();
    EXPECT_TRUE(std::is_sorted(next.begin(), next.end()));
}

TEST_F(Windows, TakeNoMoreThanNeededWhereNoSlackIsGiven)
{
    const PoolGuard guard{2_MiB, 128};
    scramble_pool(2_MiB);
    std::size_t wanted = 0;
    const Window window =
        Window::build({.size = 64_MiB, .slack_percent = 0, .progress = [&](const BuildProgress& at) {
                           wanted = std::max(wanted, at.wanted);
                       }});
    EXPECT_EQ(wanted, 66_MiB);
}

TEST_F(Windows, TellHowFarTheyAreUntilTheEnd)
{
    const PoolGuard guard{2_MiB, 128};
    std::vector<BuildProgress> told;
    const pid_t thread = gettid();
    const Window window = Window::build({.size = 64_MiB, .progress = [&](const BuildProgress& at) {
                                             EXPECT_EQ(gettid(), thread);
                                             told.push_back(at);
                                         }});
    ASSERT_GE(told.size(), 2U);
    EXPECT_EQ(told.front().taken, 0U);
    EXPECT_EQ(told.front().wanted, 66_MiB);
    EXPECT_EQ(told.back().taken, told.back().wanted);
    EXPECT_TRUE(std::is_sorted(told.begin(), told.end(), [](auto& a, auto& b) { return a.taken < b.taken; }));
}

TEST_F(Windows, TakenByTwoThreadsAreOneWindowAllTheSame)
{
    const PoolGuard guard{2_MiB, 65};
    const Window window = Window::build({.size = 128_MiB, .threads = 2});
    EXPECT_EQ(window.files().size(), 2U);
    std::set<std::uint64_t> frames;
    for (const DmaAddress frame : window.frames())
        frames.insert(frame.value());
    EXPECT_EQ(frames.size(), 65U);
    const std::span<std::byte> block = window.block();
    std::fill(block.begin(), block.end(), std::byte{7});
    EXPECT_EQ(guard.free(), 0U);
}

TEST_F(Windows, OfOneNodeLieThere)
{
    const int node = host::nodes().front().id;
    const PoolGuard guard{2_MiB, 33, node};
    const Window window = Window::build({.size = 64_MiB, .node = node});
    EXPECT_EQ(read_pool(2_MiB, node).free, 0U);
    EXPECT_EQ(window.map().node, node);
}

TEST_F(Windows, OfOneGigabytePagesHaveASmallHeader)
{
    std::unique_ptr<PoolGuard> large;
    try {
        large = std::make_unique<PoolGuard>(1_GiB, 2);
    } catch (const std::exception&) { // NOLINT(bugprone-empty-catch): said below
    }
    MRZ_REQUIRE(large != nullptr, "the kernel gives no two 1-GiB pages");
    const PoolGuard small{2_MiB, 1};
    {
        const Window window = Window::build({.size = 2_GiB, .page_size = 1_GiB});
        EXPECT_EQ(large->free(), 0U);
        EXPECT_EQ(small.free(), 0U);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(window.block().data()) % 1_GiB, 0U);
        EXPECT_EQ(window.map().header_length, 2_MiB);
        ASSERT_EQ(window.frames().size(), 1025U);
        EXPECT_EQ(window.frames()[2] - window.frames()[1], 2_MiB);
        EXPECT_LE(entries(window, WindowOptions{}.limits), 2U);
        window.address()[0] = std::byte{1};
        window.block().back() = std::byte{2};
    }
    EXPECT_EQ(large->free(), 2U);
    EXPECT_EQ(small.free(), 1U);
}

TEST_F(Windows, MovedFromOnesOwnNothingAndAssignedToOnesGiveTheirPagesBack)
{
    const PoolGuard guard{2_MiB, 64};
    Window first = Window::build({.size = 20_MiB, .slack_percent = 0});
    Window second = Window::build({.size = 40_MiB, .slack_percent = 0});
    EXPECT_EQ(guard.free(), 64U - 11 - 21);
    std::byte* const address = second.address();
    first = std::move(second);
    EXPECT_EQ(guard.free(), 64U - 21);
    EXPECT_EQ(first.address(), address);
    EXPECT_EQ(first.length(), 42_MiB);
}

TEST_F(Windows, ThatAreAbandonedStayUntilTheProcessEnds)
{
    const PoolGuard guard{2_MiB, 32};
    in_child([&] {
        std::byte* kept = nullptr;
        {
            Window window = Window::build({.size = 20_MiB});
            kept = window.address();
            window.abandon();
        }
        EXPECT_EQ(guard.free(), 32U - 11);
        kept[21_MiB] = std::byte{1};
        const Window other = Window::build({.size = 20_MiB, .slack_percent = 0});
        EXPECT_NE(other.address(), kept);
    });
    EXPECT_EQ(guard.free(), 32U);
}

TEST_F(Windows, DestroyedInAForkedChildStayWithTheParent)
{
    const PoolGuard guard{2_MiB, 32};
    auto window = std::make_unique<Window>(Window::build({.size = 20_MiB}));
    window->block()[5] = std::byte{42};
    in_child([&] { window.reset(); });
    EXPECT_EQ(guard.free(), 32U - 11);
    EXPECT_EQ(window->block()[5], std::byte{42});
}

} // namespace
} // namespace mrz::test
