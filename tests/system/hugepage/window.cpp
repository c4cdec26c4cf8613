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
#include <numeric>
#include <set>
#include <vector>

#include <numaif.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

namespace mrz::test {
namespace {

using testing::AllOf;
using testing::Each;
using testing::HasSubstr;

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
    const WindowOptions options{.size = 1_GiB, .surplus = Surplus::percent(200)};
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
    Window window = Window::build({.size = 16_MiB, .surplus = Surplus::exact()});
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
        Window::build({.size = 64_MiB, .surplus = Surplus::exact(), .progress = [&](const BuildProgress& at) {
                           wanted = std::max(wanted, at.wanted);
                       }});
    EXPECT_EQ(wanted, 66_MiB);
}

TEST_F(Windows, LookNoFurtherOnceNothingCouldBeCheaper)
{
    const PoolGuard guard{2_MiB, 1};
    MRZ_REQUIRE(add_a_whole_gigabyte(), "the kernel gives no page of 1 GiB, or does not demote it");
    {
        TakenPages all{2_MiB, guard.free()}; // gives them in ascending order to who comes next
        const std::vector<DmaAddress> frames = all.frames();
        std::vector<std::size_t> order(frames.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return frames[a] > frames[b]; });
        all.give_back(order);
    }
    std::size_t wanted = 0;
    const Window window =
        Window::build({.size = 256_MiB, .surplus = Surplus::pool(), .progress = [&](const BuildProgress& at) {
                           wanted = at.wanted;
                       }});
    EXPECT_EQ(entries(window, WindowOptions{}.limits), 1U);
    EXPECT_LT(wanted, 400_MiB);
}

TEST_F(Windows, LookAtAllOfThePoolButItsReserve)
{
    const PoolGuard guard{2_MiB, 200};
    // Every second page is held, so that nothing is ever good enough.
    TakenPages all{2_MiB, 200};
    const std::vector<DmaAddress> frames = all.frames();
    std::vector<std::size_t> order(frames.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return frames[a] < frames[b]; });
    std::vector<std::size_t> second;
    for (std::size_t i = 0; i < order.size(); i += 2)
        second.push_back(order[i]);
    all.give_back(second);
    const auto looked_at = [](const Surplus& surplus) {
        std::size_t taken = 0;
        const Window window = Window::build(
            {.size = 20_MiB, .surplus = surplus, .progress = [&](const BuildProgress& at) { taken = at.taken; }});
        return taken / 2_MiB;
    };
    EXPECT_EQ(looked_at(Surplus::exact()), 11U);
    EXPECT_EQ(looked_at(Surplus::pool(0)), 100U);
    EXPECT_EQ(looked_at(Surplus::pool(100_MiB)), 50U);
    EXPECT_EQ(looked_at(Surplus::pool(1_TiB)), 11U);
    EXPECT_EQ(guard.free(), 100U);
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

//! The node of each 2-MiB page.
std::vector<int> nodes_of(const Window& window)
{
    std::vector<void*> pages;
    for (std::size_t offset = 0; offset < window.length(); offset += 2_MiB)
        pages.push_back(window.address() + offset);
    std::vector<int> nodes(pages.size(), -1);
    EXPECT_EQ(move_pages(0, pages.size(), pages.data(), nullptr, nodes.data(), 0), 0);
    return nodes;
}

// On each node that there is: one, or as many as the machine has.
TEST_F(Windows, OfEachNodeLieThere)
{
    for (const host::Node& node : host::nodes()) {
        const PoolGuard guard{2_MiB, 66, node.id};
        scramble_pool(2_MiB);
        const Window window = Window::build({.size = 64_MiB, .node = node.id, .surplus = Surplus::pool(0)});
        EXPECT_THAT(nodes_of(window), Each(node.id));
        EXPECT_EQ(read_pool(2_MiB, node.id).free, 66U - 33U);
        EXPECT_EQ(window.map().node, node.id);
    }
}

TEST_F(Windows, OfANodeWithoutPagesOrThatIsNotThereAreRefusedByName)
{
    const auto refusal = [](int node) {
        try {
            Window::build({.size = 64_MiB, .node = node});
        } catch (const Error& error) {
            return std::string{error.what()};
        }
        return std::string{"none"};
    };
    int last = 0;
    for (const host::Node& node : host::nodes()) {
        last = std::max(last, node.id);
        const std::uint64_t free = read_pool(2_MiB, node.id).free;
        if (free < 33) {
            EXPECT_THAT(refusal(node.id), AllOf(HasSubstr("node " + std::to_string(node.id)), HasSubstr("33")));
        }
    }
    EXPECT_THAT(refusal(last + 1), HasSubstr("node " + std::to_string(last + 1)));
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

TEST_F(Windows, OfAdjacentOneGigabytePagesHaveLargerEntries)
{
    std::unique_ptr<PoolGuard> large;
    for (std::uint64_t pages = 6; pages >= 2 && large == nullptr; --pages)
        try {
            large = std::make_unique<PoolGuard>(1_GiB, pages);
        } catch (const std::exception&) { // NOLINT(bugprone-empty-catch): said below
        }
    MRZ_REQUIRE(large != nullptr, "the kernel gives no two 1-GiB pages");
    const PoolGuard small{2_MiB, 1};
    std::vector<DmaAddress> frames;
    {
        const TakenPages all{1_GiB, large->free()};
        frames = all.frames();
    }
    // Two pages are one entry of 2 GiB if they are its halves, where the kernel stands that.
    std::uint64_t fewest = 2;
    for (const DmaAddress frame : frames)
        if (host::max_registration_shift() >= PageShift{31} && frame.value() % 2_GiB == 0 &&
            std::find(frames.begin(), frames.end(), frame + 1_GiB) != frames.end())
            fewest = 1;
    const Window window = Window::build({.size = 2_GiB, .page_size = 1_GiB, .surplus = Surplus::pool(0)});
    EXPECT_EQ(entries(window, WindowOptions{}.limits), fewest);
    RecordProperty("entries", static_cast<int>(fewest));
    window.block().front() = std::byte{1};
    window.block().back() = std::byte{2};
}

TEST_F(Windows, MovedFromOnesOwnNothingAndAssignedToOnesGiveTheirPagesBack)
{
    const PoolGuard guard{2_MiB, 64};
    Window first = Window::build({.size = 20_MiB, .surplus = Surplus::exact()});
    Window second = Window::build({.size = 40_MiB, .surplus = Surplus::exact()});
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
        const Window other = Window::build({.size = 20_MiB, .surplus = Surplus::exact()});
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
